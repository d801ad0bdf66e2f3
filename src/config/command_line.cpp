#include "config/command_line.hpp"

#include <algorithm>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <cctype>
#include <limits>
#include <regex>
#include <stdexcept>
#include <utility>

#include "config/text.hpp"

namespace po = boost::program_options;

namespace ridgeline {
namespace {

constexpr int most_threads = 512;  // of Kokkos' OpenMP back end, which does not look
constexpr int most_samples = 1000000;
constexpr int most_profile_steps = 10000;  // some hundred megabytes of trace

// An option of one or more commands: how it is written, what it does, where its value goes.
struct Flag {
  const char* name;         // as the table of commands refers to it
  const char* placeholder;  // of its value; empty for a switch
  const char* letter;       // its short form, or empty
  const char* summary;
  po::value_semantic* (*value)(CommandLine&);
};

// Values that are more than text are read after Boost has taken the command line apart.
const std::vector<Flag>& flags() {
  static const std::vector<Flag> table = {
      {"output", "DIR", "o", "where to write (if not given: runs/DECK or runs/comparison by run, nothing by eval)",
       [](CommandLine& line) -> po::value_semantic* { return po::value(&line.output); }},
      {"count", "N", "", "how many to make",
       [](CommandLine&) -> po::value_semantic* { return po::value<std::string>(); }},
      {"class", "C", "", "which class to make, of a model with `extra = class` (default: all in turn)",
       [](CommandLine&) -> po::value_semantic* { return po::value<std::string>(); }},
      {"temperature", "T", "", "what the logits are divided by; 0: always the most probable level (default: 1)",
       [](CommandLine&) -> po::value_semantic* { return po::value<std::string>(); }},
      {"seed", "S", "", "of the draws: the same one makes the same images (default: 1)",
       [](CommandLine&) -> po::value_semantic* { return po::value<std::string>(); }},
      {"given", "FILE", "", "an image file: its images begin those that are made",
       [](CommandLine& line) -> po::value_semantic* { return po::value(&line.given); }},
      {"keep", "ROWS", "", "how many rows of the given images are kept",
       [](CommandLine&) -> po::value_semantic* { return po::value<std::string>(); }},
      {"part", "PART", "", "group of that file whose images are given (default: test)",
       [](CommandLine& line) -> po::value_semantic* { return po::value(&line.part); }},
      {"overwrite", "", "", "replace what an earlier run left in that folder",
       [](CommandLine& line) -> po::value_semantic* { return po::bool_switch(&line.overwrite); }},
      {"resume", "", "", "continue the run in that folder where its checkpoint ends, or begin it",
       [](CommandLine& line) -> po::value_semantic* { return po::bool_switch(&line.resume); }},
      {"time-limit", "HH:MM:SS", "", "stop before the program has run that long, as a signal stops it",
       [](CommandLine&) -> po::value_semantic* { return po::value<std::string>(); }},
      {"checkpoint", "FILE", "", "the trained model, a checkpoint.h5",
       [](CommandLine& line) -> po::value_semantic* { return po::value(&line.checkpoint); }},
      {"set", "SECTION.KEY=VALUE", "", "set a key of the deck; may be given many times, the last one counts",
       [](CommandLine&) -> po::value_semantic* { return po::value<std::vector<std::string>>()->composing(); }},
      {"plugin", "FILE", "", "load a plugin, or every plugin in a folder; may be given many times",
       [](CommandLine& line) -> po::value_semantic* { return po::value(&line.plugins)->composing(); }},
      {"option", "KEY=VALUE", "", "set an option of the layer; may be given many times, the last one counts",
       [](CommandLine&) -> po::value_semantic* { return po::value<std::vector<std::string>>()->composing(); }},
      {"json", "", "", "print JSON in place of a table",
       [](CommandLine& line) -> po::value_semantic* { return po::bool_switch(&line.json); }},
      {"threads", "N", "", "how many threads to use (default: what OMP_NUM_THREADS says, or all cores)",
       [](CommandLine&) -> po::value_semantic* { return po::value<std::string>(); }},
      {"profile", "", "", "measure every kernel, and write profile.json, a trace of the first steps",
       [](CommandLine& line) -> po::value_semantic* { return po::bool_switch(&line.profile); }},
      {"profile-steps", "N", "", "how many steps --profile traces (default: 200)",
       [](CommandLine&) -> po::value_semantic* { return po::value<std::string>(); }},
      {"quiet", "", "", "show no progress, warnings and errors only",
       [](CommandLine& line) -> po::value_semantic* { return po::bool_switch(&line.quiet); }},
      {"log-level", "LEVEL", "", "what log.txt holds: warn, info (default), or debug, with a line a step",
       [](CommandLine&) -> po::value_semantic* { return po::value<std::string>(); }},
  };
  return table;
}

struct Command {
  const char* name;
  const char* argument;  // "DECK", "[KIND]" when it may be left out, "DECK..." when there may be several, "" for none
  std::string CommandLine::*field;  // of one argument; of several, they are CommandLine::decks
  const char* summary;
  std::vector<const char*> required;  // names of flags that must be given
  std::vector<const char*> optional;
  std::vector<const char*> examples;
  std::vector<Flag> own = {};  // options that are other than those of the same name in the table
};

const std::vector<Command>& commands() {
  static const std::vector<Command> table = {
      {"run",
       "DECK...",
       nullptr,
       "train each deck's model, evaluate it, write a report; several are compared",
       {},
       {"output", "overwrite", "resume", "time-limit", "set", "plugin", "threads", "profile", "profile-steps", "quiet",
        "log-level"},
       {"ridgeline run inputs/sine.ini", "ridgeline run inputs/sine.ini --resume --time-limit 23:55:00",
        "ridgeline run inputs/sine.ini -o trial --set train.epochs=2",
        "ridgeline run inputs/sine.ini --set \"eval.ood_x.x=-9 9 0.1\" --threads 2",
        "ridgeline run inputs/sine.ini -o profiled --profile --set train.epochs=1",
        "ridgeline run inputs/sine.ini inputs/sine_best.ini -o both --resume"}},
      {"eval",
       "DECK",
       &CommandLine::deck,
       "evaluate a trained model on the deck's test sets",
       {"checkpoint"},
       {"output", "overwrite", "set", "plugin", "threads", "quiet", "log-level"},
       {"ridgeline eval inputs/sine.ini --checkpoint runs/sine/checkpoint.h5"}},
      {"sample",
       "",
       nullptr,
       "make images with a trained model, pixel by pixel",
       {"checkpoint", "count", "output"},
       {"class", "temperature", "seed", "given", "keep", "part", "set", "plugin", "threads"},
       {"ridgeline sample --checkpoint runs/digits_causal/checkpoint.h5 --count 16 -o made.h5",
        "ridgeline sample --checkpoint checkpoint.h5 --count 16 -o made.h5 --temperature 0.8 --seed 2",
        "ridgeline sample --checkpoint checkpoint.h5 --count 8 -o ended.h5 --given digits.h5 --keep 4"},
       {{"output", "FILE.h5", "o", "the file to write",
         [](CommandLine& line) -> po::value_semantic* { return po::value(&line.output); }}}},
      {"check",
       "DECK",
       &CommandLine::deck,
       "check a deck, and say what a run of it would take; nothing is trained",
       {},
       {"set", "plugin", "threads"},
       {"ridgeline check inputs/sine.ini --set model.width=256"}},
      {"layers",
       "[KIND]",
       &CommandLine::subject,
       "list the layers there are, all or those of one kind",
       {},
       {"plugin"},
       {"ridgeline layers", "ridgeline layers attention"}},
      {"describe",
       "[KIND/NAME]",
       &CommandLine::subject,
       "list the options of a layer, or, without a name, of the deck's own sections",
       {},
       {"plugin"},
       {"ridgeline describe attention/functional", "ridgeline describe"}},
      {"conform",
       "KIND/NAME",
       &CommandLine::subject,
       "check that a layer keeps what every layer promises",
       {},
       {"option", "plugin", "json", "threads"},
       {"ridgeline conform ffn/mlp", "ridgeline conform attention/functional --option heads=2 --option basis=6",
        "ridgeline conform ffn/swiglu --plugin ./swiglu.so --json"}},
      {"report",
       "DIR",
       &CommandLine::directory,
       "draw the report of a run, or of a comparison, again",
       {},
       {},
       {"ridgeline report runs/sine", "ridgeline report runs/comparison"}},
  };
  return table;
}

const Command* find_command(const std::string& name) {
  for (const Command& command : commands()) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

const Flag& find_flag(const Command& command, const std::string& name) {
  for (const std::vector<Flag>* table : {&command.own, &flags()}) {
    const auto found = std::find_if(table->begin(), table->end(), [&](const Flag& flag) { return name == flag.name; });
    if (found != table->end()) return *found;
  }
  throw std::logic_error("a command refers to an option that there is not: " + name);
}

std::vector<const char*> flags_of(const Command& command) {
  std::vector<const char*> names = command.required;
  names.insert(names.end(), command.optional.begin(), command.optional.end());
  return names;
}

bool is_optional(const Command& command) { return command.argument[0] == '['; }

bool takes_none(const Command& command) { return command.argument[0] == '\0'; }

bool takes_several(const Command& command) { return command.field == nullptr && !takes_none(command); }

// The argument's name without the brackets that say that it may be left out, or the dots that there may be several.
std::string argument_name(const Command& command) {
  const std::string name = command.argument;
  if (takes_several(command)) return name.substr(0, name.find('.'));
  return is_optional(command) ? name.substr(1, name.size() - 2) : name;
}

// "-o DIR", "--set SECTION.KEY=VALUE", "--quiet"
std::string written(const Flag& flag) {
  const std::string letter = flag.letter;
  const std::string placeholder = flag.placeholder;
  return (letter.empty() ? "--" + std::string(flag.name) : "-" + letter) + (placeholder.empty() ? "" : " ") +
         placeholder;
}

// "run DECK [options]"
std::string form_of(const Command& command) {
  std::string form = std::string("ridgeline ") + command.name + (takes_none(command) ? "" : " ") + command.argument;
  for (const char* name : command.required) form += " " + written(find_flag(command, name));
  return form + (command.optional.empty() ? "" : " [options]");
}

Error mistake(const std::string& sentence) { return {Exit::mistake, sentence}; }

Error unknown_option(const Command& command, const std::string& given) {
  const std::string option = given.substr(0, given.find('='));
  std::vector<std::string> known = {"--help"};
  for (const char* name : flags_of(command)) known.push_back("--" + std::string(name));
  const std::string otherwise = std::string("ridgeline ") + command.name + " --help lists them";
  return mistake(excerpt(option) + " is not an option of " + command.name + suggestion(option, known, otherwise));
}

// "a DIR", "an N": as it is spoken.
std::string with_article(const std::string& placeholder) {
  const std::string first = placeholder.substr(0, placeholder.find_first_of(" :-/."));
  const bool has_vowel_sound = first == "N" || first == "HH" || first.find_first_of("AEIO") == 0;
  return (has_vowel_sound ? "an " : "a ") + placeholder;
}

// "; it takes a DIR" for "--output"
std::string placeholder_of(const Command& command, const std::string& option) {
  for (const char* name : flags_of(command)) {
    if (option == "--" + std::string(name)) return "; it takes " + with_article(find_flag(command, name).placeholder);
  }
  return "";
}

// What Boost found wrong, as one sentence of ours.
Error translated(const Command& command, const po::error_with_option_name& error) {
  const std::string option = error.get_option_name();
  if (dynamic_cast<const po::unknown_option*>(&error) != nullptr) return unknown_option(command, option);
  if (dynamic_cast<const po::multiple_occurrences*>(&error) != nullptr) {
    return mistake(excerpt(option) + " is given twice; once is enough.");
  }
  if (const auto* syntax = dynamic_cast<const po::invalid_command_line_syntax*>(&error)) {
    if (syntax->kind() == po::invalid_syntax::extra_parameter) {
      return mistake(excerpt(option) + " takes no value.");
    }
  }
  return mistake(excerpt(option) + " needs a value" + placeholder_of(command, option) + ".");
}

po::options_description description_of(const Command& command, CommandLine& line) {
  po::options_description description;
  description.add_options()("help,h", po::bool_switch(&line.help), "");
  description.add_options()("argument", po::value<std::vector<std::string>>(), "");
  for (const char* name : flags_of(command)) {
    const Flag& flag = find_flag(command, name);
    const std::string letter = flag.letter;
    const std::string names = flag.name + (letter.empty() ? "" : "," + letter);
    description.add_options()(names.c_str(), flag.value(line), flag.summary);
  }
  return description;
}

// Lets Boost take the arguments apart; what they set directly is in `line` afterwards.
po::variables_map parse_arguments(const Command& command, const std::vector<std::string>& arguments,
                                  CommandLine& line) {
  const po::options_description description = description_of(command, line);
  po::positional_options_description positions;
  positions.add("argument", -1);
  // An abbreviation that is unique today is ambiguous once a command has one more option.
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    po::command_line_parser parser(arguments);
    const po::parsed_options parsed = parser.options(description).positional(positions).style(style).run();
    for (const po::option& option : parsed.options) {
      // "argument" is how Boost calls the words without a dash, not an option for the user.
      if (option.string_key == "argument" && option.position_key < 0) throw unknown_option(command, "--argument");
    }
    po::store(parsed, values);
    po::notify(values);
  } catch (const po::error_with_option_name& error) {
    throw translated(command, error);
  } catch (const po::error& error) {
    throw mistake(std::string("the arguments of ") + command.name + " cannot be read: " + excerpt(error.what()) + ".");
  }
  return values;
}

void read_argument(const Command& command, const po::variables_map& values, CommandLine& line) {
  const std::string form = "; write " + form_of(command) + ".";
  std::vector<std::string> words;
  if (values.count("argument") > 0) words = values["argument"].as<std::vector<std::string>>();
  if (takes_none(command)) {
    if (words.empty()) return;
    throw mistake(std::string(command.name) + " takes no argument, and " + excerpt(words[0]) + " is one" + form);
  }
  if (words.empty() && !is_optional(command)) {
    throw mistake(std::string(command.name) + " needs " + with_article(argument_name(command)) + form);
  }
  if (words.size() > 1 && !takes_several(command)) {
    throw mistake(std::string(command.name) + " takes one " + argument_name(command) + ", and " + excerpt(words[1]) +
                  " is one more" + form);
  }
  for (const std::string& word : words)
    if (word.empty()) throw mistake("the " + argument_name(command) + " of " + command.name + " is empty" + form);
  if (takes_several(command))
    line.decks = words;
  else if (!words.empty())
    line.*command.field = words[0];
}

// A number of the kind ("a whole number") and in the range ("from 0 to 9") that are said.
template <class Number>
Number read_within(const std::string& option, const std::string& text, Number least, Number most,
                   const std::string& kind, const std::string& range) {
  Number number = 0;
  const NumberError error = read_number(text, number);
  if (error == NumberError::none && number >= least && number <= most) return number;
  throw mistake(option + " " + excerpt(text) + " is " +
                (error == NumberError::malformed ? "not " + kind : "out of range") + "; it takes " + kind + " " +
                range + ".");
}

std::int64_t read_whole(const std::string& option, const std::string& text, std::int64_t least, std::int64_t most) {
  return read_within(option, text, least, most, "a whole number",
                     "from " + number_text(least) + " to " + number_text(most));
}

int read_count(const std::string& option, const std::string& text, int least, int most) {
  return static_cast<int>(read_whole(option, text, least, most));
}

// What `sample` is told.
void read_sampling(const po::variables_map& values, CommandLine& line) {
  const auto text = [&](const char* name) { return values[name].as<std::string>(); };
  if (values.count("count") > 0) line.count = read_count("--count", text("count"), 1, most_samples);
  if (values.count("class") > 0) line.label = read_count("--class", text("class"), 0, most_samples);
  if (values.count("temperature") > 0)
    line.temperature = read_within("--temperature", text("temperature"), 0.0, std::numeric_limits<double>::max(),
                                   "a number", "of at least 0");
  if (values.count("seed") > 0)
    line.seed =
        static_cast<std::uint64_t>(read_whole("--seed", text("seed"), 0, std::numeric_limits<std::int64_t>::max()));
  if (values.count("keep") > 0) line.keep = read_count("--keep", text("keep"), 0, most_samples);
  if (line.keep.has_value() == line.given.empty())
    throw mistake(line.keep ? "--keep says how much of the images of --given stays, and needs it."
                            : "--given needs --keep, which says how many rows of its images stay.");
  if (values.count("part") > 0 && line.given.empty())
    throw mistake("--part names a group of the file of --given, and needs it.");
}

void read_profile_steps(const po::variables_map& values, CommandLine& line) {
  if (values.count("profile-steps") == 0) return;
  line.profile_steps = read_count("--profile-steps", values["profile-steps"].as<std::string>(), 0, most_profile_steps);
  if (!line.profile) throw mistake("--profile-steps says how many steps --profile traces, and needs it.");
}

// "23:55:00", and days as queues write them: "2-12:00:00".
void read_time_limit(const std::string& text, CommandLine& line) {
  static const std::regex form(R"((?:(\d{1,4})-)?(\d{1,6}):([0-5]?\d):([0-5]?\d))");
  std::smatch part;
  if (!std::regex_match(text, part, form))
    throw mistake("--time-limit " + excerpt(text) + " is not a time; it takes HH:MM:SS, or D-HH:MM:SS.");
  const auto number = [&](std::size_t i) { return part[i].matched ? std::stod(part[i]) : 0.0; };
  line.time_limit = ((number(1) * 24 + number(2)) * 60 + number(3)) * 60 + number(4);
  if (*line.time_limit == 0) throw mistake("--time-limit " + excerpt(text) + " leaves no time to run.");
}

void read_log_level(const std::string& text, CommandLine& line) {
  const std::vector<std::string> names = {"debug", "info", "warn"};  // in the order of LogLevel
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    throw mistake("--log-level " + excerpt(text) + " is not known" +
                  suggestion(text, names, "known are " + join(names, ", ")));
  }
  line.log_level = static_cast<LogLevel>(found - names.begin());
}

void read_options(const std::vector<std::string>& texts, CommandLine& line) {
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    const std::string key(trim(text.substr(0, sign)));
    if (sign == std::string::npos || key.empty())
      throw mistake("--option " + excerpt(text) + " sets nothing; it takes KEY=VALUE.");
    line.layer_options[key] = trim(text.substr(sign + 1));
  }
}

void check_flags(const Command& command, const po::variables_map& values) {
  for (const char* name : command.required) {
    if (values.count(name) == 0) {
      throw mistake(std::string(command.name) + " needs --" + name + "; write " + form_of(command) + ".");
    }
  }
  for (const char* name : flags_of(command)) {
    if (values.count(name) == 0) continue;
    const auto* text = boost::any_cast<std::string>(&values[name].value());
    if (text != nullptr && trim(*text).empty()) {
      throw mistake(std::string("--") + name + " has no value; it takes " +
                    with_article(find_flag(command, name).placeholder) + ".");
    }
  }
}

CommandLine parse_command(const Command& command, const std::vector<std::string>& arguments) {
  CommandLine line;
  line.command = command.name;
  // Whoever asks for help is not told what else is missing.
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  line.help = std::find(arguments.begin(), end, "--help") != end || std::find(arguments.begin(), end, "-h") != end;
  if (line.help) return line;

  const po::variables_map values = parse_arguments(command, arguments, line);
  check_flags(command, values);
  read_argument(command, values, line);
  if (values.count("threads") > 0)
    line.threads = read_count("--threads", values["threads"].as<std::string>(), 1, most_threads);
  if (values.count("time-limit") > 0) read_time_limit(values["time-limit"].as<std::string>(), line);
  read_profile_steps(values, line);
  if (line.command == "sample") read_sampling(values, line);
  if (line.resume && line.overwrite)
    throw mistake("--resume continues a run and --overwrite removes it; only one of them can be given.");
  if (std::find(line.plugins.begin(), line.plugins.end(), "") != line.plugins.end())
    throw mistake("--plugin has no value; it takes a FILE.");
  if (values.count("log-level") > 0) read_log_level(values["log-level"].as<std::string>(), line);
  if (values.count("option") > 0) read_options(values["option"].as<std::vector<std::string>>(), line);
  if (values.count("set") > 0) {
    for (const std::string& text : values["set"].as<std::vector<std::string>>()) {
      line.overrides.push_back(Override::parse(text));
    }
  }
  return line;
}

// Moves the arguments that are Kokkos' own, up to "--", to the result.
std::vector<std::string> take_kokkos(std::vector<std::string>& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  const auto is_kokkos = [](const std::string& argument) { return argument.rfind("--kokkos-", 0) == 0; };
  const auto first = std::stable_partition(arguments.begin(), end, [&](const auto& word) { return !is_kokkos(word); });
  std::vector<std::string> result(first, end);
  arguments.erase(first, end);
  return result;
}

CommandLine parse_own(const std::vector<std::string>& arguments) {
  if (arguments.empty()) throw mistake("no command is given; ridgeline --help lists them.");
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h" || first == "--version") {
    CommandLine line;
    line.help = first != "--version";
    line.version = !line.help;
    if (line.help && arguments.size() == 2 && find_command(arguments[1]) != nullptr) line.command = arguments[1];
    if (arguments.size() == (line.command.empty() ? 1U : 2U)) return line;
    throw mistake(first + " takes no argument" + (line.help ? " but a command" : "") + ", and " +
                  excerpt(arguments.back()) + " is given.");
  }
  if (!first.empty() && first.front() == '-') {
    const std::string otherwise = "a command comes first, and ridgeline --help lists them";
    throw mistake(excerpt(first) + " is not known here" + suggestion(first, {"--help", "--version"}, otherwise));
  }
  const Command* command = find_command(first);
  if (command == nullptr) {
    const std::string otherwise = "known are " + join(command_names(), ", ");
    throw mistake((first.empty() ? "an empty word" : excerpt(first)) + " is not a command" +
                  suggestion(first, command_names(), otherwise));
  }
  return parse_command(*command, std::vector<std::string>(arguments.begin() + 1, arguments.end()));
}

// Rows of two columns, indented by two.
std::string listing(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, character_count(row.first));
  std::string text;
  for (const auto& [left, right] : rows) {
    text.append("  ").append(left).append(width - character_count(left) + 2, ' ').append(right).append("\n");
  }
  return text;
}

std::string program_help() {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Command& command : commands()) {
    std::string form = std::string(command.name) + (takes_none(command) ? "" : " ") + command.argument;
    if (!command.required.empty()) form += " " + written(find_flag(command, command.required.front()));
    rows.emplace_back(form + (command.required.size() > 1 ? " ..." : ""), command.summary);
  }
  return "Ridgeline trains and evaluates attention models of functions and fields from an input deck.\n"
         "\n"
         "Usage: ridgeline COMMAND ...\n"
         "\n"
         "Commands:\n" +
         listing(rows) +
         "\n"
         "Options:\n" +
         listing({{"COMMAND --help", "what a command takes, with examples"},
                  {"--help", "this text"},
                  {"--version", "version, back end, threads and libraries"},
                  {"--kokkos-...", "passed on to Kokkos, wherever it stands"}}) +
         "\n"
         "Begin with: ridgeline run inputs/sine.ini\n"
         "\n"
         "Exit status: 0 done; 1 a layer does not conform; 2 a mistake in the command or the deck;\n"
         "3 a numerical failure; 4 a file could not be read or written; 75 stopped by a signal or\n"
         "the time limit: call again with --resume.\n";
}

// The summary with a capital and a full stop.
std::string sentence_of(const Command& command) {
  std::string sentence = std::string(command.summary) + ".";
  sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  return sentence;
}

std::string command_help(const Command& command) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const char* name : flags_of(command)) {
    const Flag& flag = find_flag(command, name);
    std::string form = flag.letter[0] == '\0' ? "" : std::string("-") + flag.letter + ", ";
    form.append("--").append(flag.name).append(flag.placeholder[0] == '\0' ? "" : " ").append(flag.placeholder);
    rows.emplace_back(form, flag.summary);
  }
  rows.emplace_back("-h, --help", "this text");
  std::string text = "Usage: " + form_of(command) + "\n\n" + sentence_of(command) + "\n\nOptions:\n" + listing(rows);
  text += command.examples.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
  for (const char* example : command.examples) text += std::string("  ") + example + "\n";
  return text;
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& arguments) {
  std::vector<std::string> own = arguments;
  std::vector<std::string> kokkos = take_kokkos(own);
  CommandLine line = parse_own(own);
  line.kokkos = std::move(kokkos);
  return line;
}

std::string help_text(const std::string& command) {
  const Command* found = find_command(command);
  return found == nullptr ? program_help() : command_help(*found);
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& command : commands()) names.emplace_back(command.name);
  return names;
}

}  // namespace ridgeline
