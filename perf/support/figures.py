"""Medians, spreads, ratios, and tables of them."""
import statistics


def median(values):
    return statistics.median(values)


def ratios(theirs, own):
    """Pair by pair; above 1 where `own` took less."""
    if len(theirs) != len(own):
        raise ValueError(f"{len(theirs)} and {len(own)} values are no pairs")
    return [a / b for a, b in zip(theirs, own)]


def significant(value, digits=3):
    """A number with so many digits, without an exponent: 0.0123, 1.23, 123, 1,234."""
    if value == 0:
        return "0"
    decimals = 0
    magnitude = abs(value)
    while magnitude < 10 ** (digits - 1) and decimals < 9:
        magnitude *= 10
        decimals += 1
    return f"{value:,.{decimals}f}"


def with_spread(values, digits=3):
    """median (smallest to largest); just the number where there is one."""
    if not values:
        return "-"
    middle = significant(median(values), digits)
    if len(values) == 1:
        return middle
    return f"{middle} ({significant(min(values), digits)} to {significant(max(values), digits)})"


def percent(share):
    return f"{100 * share:.0f} %"


def mebibytes(size):
    return f"{size / 2**20:,.0f}"


def table(head, rows):
    """A Markdown table that is also aligned: texts to the left, everything from the second column on to the right."""
    cells = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]

    def line(row):
        first, *others = (cell.ljust(width) if i == 0 else cell.rjust(width)
                          for i, (cell, width) in enumerate(zip(row, widths)))
        return "| " + " | ".join([first, *others]) + " |"

    rule = "| " + " | ".join("-" * widths[0] if i == 0 else "-" * (width - 1) + ":" if width > 1 else ":"
                             for i, width in enumerate(widths)) + " |"
    return "\n".join([line(cells[0]), rule, *map(line, cells[1:])])
