#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/command_line.hpp"

namespace ridgeline {
namespace {

using Arguments = std::vector<std::string>;

std::string sentence(const Arguments& arguments) {
  try {
    parse_command_line(arguments);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::mistake);
    return error.what();
  }
  return "no error";
}

TEST(CommandLine, Run) {
  const CommandLine plain = parse_command_line({"run", "a.ini"});
  EXPECT_EQ(plain.command, "run");
  EXPECT_EQ(plain.decks, Arguments{"a.ini"});
  EXPECT_EQ(plain.deck, "");
  EXPECT_EQ(plain.output, "");
  EXPECT_TRUE(plain.overrides.empty());
  EXPECT_FALSE(plain.threads.has_value());
  EXPECT_FALSE(plain.overwrite || plain.quiet || plain.help || plain.version);

  const CommandLine full = parse_command_line({"run", "-o", "out", "--set", "model.width=4", "a.ini", "--overwrite",
                                               "--threads", "2", "--set=eval.x.x=-3 15 0.1", "--quiet"});
  EXPECT_EQ(full.decks, Arguments{"a.ini"});
  EXPECT_EQ(full.output, "out");
  EXPECT_TRUE(full.overwrite);
  EXPECT_TRUE(full.quiet);
  EXPECT_EQ(full.threads, 2);
  EXPECT_EQ(full.log_level, LogLevel::info);
  ASSERT_EQ(full.overrides.size(), 2U);
  EXPECT_EQ(full.overrides[0].section, "model");
  EXPECT_EQ(full.overrides[1].section, "eval.x");
  EXPECT_EQ(full.overrides[1].value, "-3 15 0.1");
}

TEST(CommandLine, Profile) {
  EXPECT_FALSE(parse_command_line({"run", "a.ini"}).profile);
  const CommandLine plain = parse_command_line({"run", "a.ini", "--profile"});
  EXPECT_TRUE(plain.profile);
  EXPECT_EQ(plain.profile_steps, 200);
  EXPECT_EQ(parse_command_line({"run", "a.ini", "--profile", "--profile-steps=0"}).profile_steps, 0);
  EXPECT_EQ(parse_command_line({"run", "--profile-steps", "10000", "--profile", "a.ini"}).profile_steps, 10000);
  EXPECT_EQ(sentence({"run", "a.ini", "--profile-steps", "5"}),
            "--profile-steps says how many steps --profile traces, and needs it.");
  for (const char* steps : {"-1", "10001", "99999999999999999999"})
    EXPECT_EQ(sentence({"run", "a.ini", "--profile", "--profile-steps", steps}),
              "--profile-steps " + std::string(steps) + " is out of range; it takes a whole number from 0 to 10000.");
  EXPECT_EQ(sentence({"run", "a.ini", "--profile", "--profile-steps", "few"}),
            "--profile-steps few is not a whole number; it takes a whole number from 0 to 10000.");
  EXPECT_EQ(sentence({"eval", "a.ini", "--checkpoint", "c.h5", "--profile"}).rfind("--profile is not an option", 0),
            0U);
}

TEST(CommandLine, WritesOptionsInEveryForm) {
  for (const Arguments& arguments :
       {Arguments{"run", "a.ini", "-oout"}, Arguments{"run", "a.ini", "--output", "out"},
        Arguments{"run", "a.ini", "--output=out"}, Arguments{"run", "-o", "out", "--", "a.ini"}}) {
    EXPECT_EQ(parse_command_line(arguments).output, "out");
    EXPECT_EQ(parse_command_line(arguments).decks, Arguments{"a.ini"});
  }
  EXPECT_EQ(parse_command_line({"run", "--", "--odd.ini"}).decks, Arguments{"--odd.ini"});
}

TEST(CommandLine, RunTakesSeveralDecksInTheirOrder) {
  EXPECT_EQ(parse_command_line({"run", "b.ini", "-o", "out", "a.ini", "--resume", "c.ini"}).decks,
            (Arguments{"b.ini", "a.ini", "c.ini"}));
  EXPECT_EQ(parse_command_line({"run", "a.ini", "--", "--b.ini"}).decks, (Arguments{"a.ini", "--b.ini"}));
}

TEST(CommandLine, OtherCommands) {
  const CommandLine eval = parse_command_line({"eval", "a.ini", "--checkpoint", "c.h5", "-o", "out"});
  EXPECT_EQ(eval.command, "eval");
  EXPECT_EQ(eval.checkpoint, "c.h5");
  EXPECT_EQ(eval.output, "out");
  EXPECT_EQ(parse_command_line({"check", "a.ini", "--set", "a.b=1"}).overrides[0].key, "b");
  EXPECT_EQ(parse_command_line({"layers"}).subject, "");
  EXPECT_EQ(parse_command_line({"layers", "attention"}).subject, "attention");
  EXPECT_EQ(parse_command_line({"describe", "ffn/mlp"}).subject, "ffn/mlp");
  EXPECT_EQ(parse_command_line({"describe"}).subject, "");
  const CommandLine conform = parse_command_line(
      {"conform", "ffn/mlp", "--option", "hidden=3", "--option=hidden=5", "--option", "activation = relu", "--json"});
  EXPECT_EQ(conform.subject, "ffn/mlp");
  EXPECT_EQ(conform.layer_options, (std::map<std::string, std::string>{{"hidden", "5"}, {"activation", "relu"}}));
  EXPECT_TRUE(conform.json);
  EXPECT_FALSE(parse_command_line({"conform", "ffn/mlp"}).json);
  EXPECT_EQ(parse_command_line({"report", "runs/a"}).directory, "runs/a");
}

TEST(CommandLine, HelpAndVersion) {
  EXPECT_TRUE(parse_command_line({"--help"}).help);
  EXPECT_TRUE(parse_command_line({"-h"}).help);
  EXPECT_TRUE(parse_command_line({"--version"}).version);
  for (const Arguments& arguments :
       {Arguments{"run", "--help"}, Arguments{"run", "a.ini", "-h"}, Arguments{"--help", "run"}}) {
    const CommandLine line = parse_command_line(arguments);
    EXPECT_TRUE(line.help);
    EXPECT_EQ(line.command, "run");
  }
}

TEST(CommandLine, HelpNamesEveryCommandAndOption) {
  for (const std::string& name : command_names()) {
    EXPECT_NE(help_text().find("\n  " + name + " "), std::string::npos) << name;
    EXPECT_NE(help_text(name).find("ridgeline " + name), std::string::npos) << name;
    EXPECT_EQ(help_text(name).find("  \n"), std::string::npos);
  }
  for (const char* option : {"-o, --output DIR", "--overwrite", "--set SECTION.KEY=VALUE", "--threads N", "--quiet"}) {
    EXPECT_NE(help_text("run").find(option), std::string::npos) << option;
  }
  EXPECT_EQ(help_text("layers").find("--threads"), std::string::npos);
}

TEST(CommandLine, HelpFitsATerminal) {
  std::vector<std::string> names = command_names();
  names.emplace_back();
  for (const std::string& name : names) {
    const std::string text = help_text(name);
    for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1) {
      EXPECT_LE(text.find('\n', start) - start, 110U) << text.substr(start, 110);
    }
  }
}

TEST(CommandLine, LeavesKokkosItsOwn) {
  const CommandLine line = parse_command_line({"--kokkos-threads=2", "run", "--kokkos-x", "a.ini", "--kokkos-y=1"});
  EXPECT_EQ(line.kokkos, (Arguments{"--kokkos-threads=2", "--kokkos-x", "--kokkos-y=1"}));
  EXPECT_EQ(line.decks, Arguments{"a.ini"});
  EXPECT_TRUE(parse_command_line({"run", "--", "--kokkos-a.ini"}).kokkos.empty());
}

TEST(CommandLineMistakes, Commands) {
  EXPECT_EQ(sentence({}), "no command is given; ridgeline --help lists them.");
  EXPECT_EQ(sentence({"rnu", "a.ini"}), "rnu is not a command; did you mean run?");
  EXPECT_EQ(sentence({"evaluation"}),
            "evaluation is not a command; known are run, eval, sample, check, layers, describe, conform, report.");
  EXPECT_EQ(sentence({""}),
            "an empty word is not a command; known are run, eval, sample, check, layers, describe, conform, report.");
  EXPECT_EQ(sentence({"--verison"}), "--verison is not known here; did you mean --version?");
  EXPECT_EQ(sentence({"--quiet", "run"}),
            "--quiet is not known here; a command comes first, and ridgeline --help lists them.");
  EXPECT_EQ(sentence({"--version", "run"}), "--version takes no argument, and run is given.");
  EXPECT_EQ(sentence({"--help", "rnu"}), "--help takes no argument but a command, and rnu is given.");
}

TEST(CommandLineMistakes, Arguments) {
  EXPECT_EQ(sentence({"run"}), "run needs a DECK; write ridgeline run DECK... [options].");
  EXPECT_EQ(sentence({"run", ""}), "the DECK of run is empty; write ridgeline run DECK... [options].");
  EXPECT_EQ(sentence({"run", "a.ini", ""}), "the DECK of run is empty; write ridgeline run DECK... [options].");
  EXPECT_EQ(sentence({"check", "a.ini", "b.ini"}),
            "check takes one DECK, and b.ini is one more; write ridgeline check DECK [options].");
  EXPECT_EQ(sentence({"layers", "a", "b"}),
            "layers takes one KIND, and b is one more; write ridgeline layers [KIND] [options].");
  EXPECT_EQ(sentence({"conform"}), "conform needs a KIND/NAME; write ridgeline conform KIND/NAME [options].");
  EXPECT_EQ(sentence({"conform", "ffn/mlp", "--option", "hidden"}),
            "--option hidden sets nothing; it takes KEY=VALUE.");
  EXPECT_EQ(sentence({"eval", "a.ini"}),
            "eval needs --checkpoint; write ridgeline eval DECK --checkpoint FILE [options].");
}

TEST(CommandLineMistakes, Options) {
  EXPECT_EQ(sentence({"run", "a.ini", "--overwirte"}),
            "--overwirte is not an option of run; did you mean --overwrite?");
  EXPECT_EQ(sentence({"run", "a.ini", "--over"}), "--over is not an option of run; did you mean --overwrite?");
  EXPECT_EQ(sentence({"run", "a.ini", "--temperature=3"}),
            "--temperature is not an option of run; ridgeline run --help lists them.");
  EXPECT_EQ(sentence({"run", "a.ini", "-x"}), "-x is not an option of run; ridgeline run --help lists them.");
  EXPECT_EQ(sentence({"run", "a.ini", "--argument=b"}),
            "--argument is not an option of run; ridgeline run --help lists them.");
  EXPECT_EQ(sentence({"check", "a.ini", "--overwrite"}),
            "--overwrite is not an option of check; ridgeline check --help lists them.");
  EXPECT_EQ(sentence({"run", "a.ini", "-o"}), "--output needs a value; it takes a DIR.");
  EXPECT_EQ(sentence({"run", "a.ini", "--output="}), "--output needs a value; it takes a DIR.");
  EXPECT_EQ(sentence({"run", "a.ini", "-o", ""}), "--output has no value; it takes a DIR.");
  EXPECT_EQ(sentence({"run", "a.ini", "-o", "a", "-o", "b"}), "--output is given twice; once is enough.");
  EXPECT_EQ(sentence({"run", "a.ini", "--quiet=yes"}), "--quiet takes no value.");
}

TEST(CommandLineMistakes, Threads) {
  const std::string allowed = "; it takes a whole number from 1 to 512.";
  for (const char* text : {"0", "-1", "513", "9223372036854775808"}) {
    EXPECT_EQ(sentence({"run", "a.ini", "--threads=" + std::string(text)}),
              "--threads " + std::string(text) + " is out of range" + allowed);
  }
  for (const char* text : {"two", "2.0", "1e1", "nan"}) {
    EXPECT_EQ(sentence({"run", "a.ini", "--threads", text}),
              "--threads " + std::string(text) + " is not a whole number" + allowed);
  }
}

TEST(CommandLine, LogLevels) {
  EXPECT_EQ(parse_command_line({"run", "a.ini", "--log-level", "debug"}).log_level, LogLevel::debug);
  EXPECT_EQ(parse_command_line({"run", "a.ini", "--log-level=info"}).log_level, LogLevel::info);
  EXPECT_EQ(parse_command_line({"eval", "a.ini", "--checkpoint", "c", "--log-level=warn"}).log_level, LogLevel::warn);
  EXPECT_EQ(sentence({"run", "a.ini", "--log-level", "loud"}),
            "--log-level loud is not known; known are debug, info, warn.");
  EXPECT_EQ(sentence({"run", "a.ini", "--log-level", "warm"}), "--log-level warm is not known; did you mean warn?");
  EXPECT_EQ(sentence({"run", "a.ini", "--log-level="}), "--log-level needs a value; it takes a LEVEL.");
}

TEST(CommandLineMistakes, Overrides) {
  EXPECT_EQ(sentence({"run", "a.ini", "--set", "width=3"}),
            "--set width=3 names no section; write --set section.key=value.");
  EXPECT_EQ(sentence({"run", "a.ini", "--set"}), "--set needs a value; it takes a SECTION.KEY=VALUE.");
}

TEST(CommandLineMistakes, EchoLittle) {
  EXPECT_LT(sentence({std::string(100000, 'x')}).size(), 300U);
  EXPECT_LT(sentence({"run", "--" + std::string(100000, 'x')}).size(), 300U);
  EXPECT_LT(sentence({"run", "a", std::string(100000, '\n')}).size(), 300U);
}

}  // namespace
}  // namespace ridgeline
