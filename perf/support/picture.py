"""Pictures through gnuplot, in the look of the program's own (src/report/plot_style)."""
import pathlib
import shutil
import subprocess
import tempfile

from . import runs

BLACK, ORANGE, SKY_BLUE, GREEN, BLUE, VERMILLION, PURPLE, GREY = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F")
FONT, FONT_SIZE = "Helvetica", 13

STYLE = """reset
set encoding utf8
set border 3 linecolor rgb '#404040' linewidth 1
set tics nomirror out scale 0.6 textcolor rgb '#000000'
set grid back linetype 1 linecolor rgb '#E4E4E4' linewidth 0.8
set xtics offset 0,0.35
set xlabel offset 0,0.6
set samples 200
if (GPVAL_VERSION >= 5.4) set minussign
"""


def text(string):
    """A string of gnuplot's language in which nothing is expanded."""
    return "'" + string.replace("'", "’").replace("\n", " ") + "'"


def block(name, rows):
    """Numbers as an inline data block of gnuplot's."""
    return f"${name} << END\n" + "\n".join(" ".join(map(str, row)) for row in rows) + "\nEND\n"


def draw(script, path, width, height):
    """Writes PATH.svg and PATH.png (twice as many pixels)."""
    program = shutil.which("gnuplot")
    if program is None:
        raise runs.Failed("the picture needs gnuplot, which is not on PATH")
    path = pathlib.Path(path).absolute()
    path = path.with_suffix("") if path.suffix in (".svg", ".png") else path
    whole = (f"set terminal svg enhanced size {width},{height} font '{FONT},{FONT_SIZE}' background rgb 'white'\n"
             f"set output 'figure.svg'\n{STYLE}{script}\nset output\n"
             f"set terminal pngcairo enhanced size {2 * width},{2 * height} font '{FONT},{FONT_SIZE}' fontscale 1.5 "
             "linewidth 2 pointscale 2 background rgb 'white'\n"
             f"set output 'figure.png'\n{STYLE}{script}\nset output\n")
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "script").write_text(whole)
        done = subprocess.run([program, "-d", "script"], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise runs.Failed(f"gnuplot could not draw it: {done.stderr.strip()[-300:]}")
        for ending in (".svg", ".png"):
            shutil.move(f"{folder}/figure{ending}", f"{path}{ending}")
    svg = pathlib.Path(f"{path}.svg")
    several = "font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\""
    svg.write_text(svg.read_text().replace(f'font-family="{FONT}"', several))
    runs.say(f"wrote {path}.svg and {path}.png")
