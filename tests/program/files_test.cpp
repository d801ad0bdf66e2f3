// Files that cannot be read or written: one sentence, status 4, nothing half-written.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hdf5.h>

#include <cstdlib>
#include <functional>
#include <limits>

#include "config/text.hpp"
#include "io/hdf5.hpp"
#include "io/seal.hpp"
#include "outcome.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::expect_contains;

TEST(Files, OutputFolderIsAFile) {
  const Place place;
  place.put("taken", "mine");
  for (const std::string output : {"taken", "taken/below"}) {
    const Ended ended = place.run({"run", "tiny.ini", "-o", output});
    expect_contains(expect_sentence(ended, 4), "taken");
    EXPECT_EQ(ended.out, "");
  }
  EXPECT_EQ(content_of(place / "taken"), "mine");
  EXPECT_EQ(place.files(), (std::vector<std::string>{"taken", "tiny.ini"}));
}

TEST(Files, OutputFolderUnwritable) {
  const Place place;
  fs::create_directory(place / "locked");
  ::chmod((place / "locked").c_str(), 0555);
  if (::access((place / "locked").c_str(), W_OK) == 0) {
    // A superuser may write anywhere, but not here.
    expect_sentence(place.run({"run", "tiny.ini", "-o", "/proc/ridgeline"}), 4);
    return;
  }
  expect_contains(expect_sentence(place.run({"run", "tiny.ini", "-o", "locked"}), 4), "locked");
  expect_contains(expect_sentence(place.run({"run", "tiny.ini", "-o", "locked/below"}), 4), "locked");
  EXPECT_EQ(place.files(), (std::vector<std::string>{"tiny.ini"}));
}

TEST(Files, DiskFullAtTheFirstCheckpoint) {
  const Place place;
  Surroundings surroundings;
  surroundings.largest_file = 8192;
  const Ended ended = place.run({"run", "tiny.ini", "-o", "out"}, surroundings);
  expect_contains(expect_sentence(ended, 4), "checkpoint.h5");
  EXPECT_EQ(files_below(place / "out"), (std::vector<std::string>{"deck.ini", "log.txt"}));
}

TEST(Files, DiskFullUnderTheLog) {
  const Place place;
  Surroundings surroundings;
  surroundings.largest_file = 1024;
  expect_sentence(place.run({"run", "tiny.ini", "-o", "out"}, surroundings), 4);
}

TEST(Files, DiskFullLeavesTheFormerCheckpoint) {
  // Results are larger than a checkpoint: the run trains, and ends where it writes them.
  const Place place;
  const fs::path whole = place.train("whole", {"data.functions=400"});
  const auto checkpoint = fs::file_size(whole / "checkpoint.h5"), results = fs::file_size(whole / "results.h5");
  ASSERT_GT(results, checkpoint + 4096);
  Surroundings surroundings;
  surroundings.largest_file = checkpoint + 2048;
  const Ended ended = place.run(with_settings({"run", "tiny.ini", "-o", "out"}, {"data.functions=400"}), surroundings);
  expect_contains(expect_sentence(ended, 4), "results.h5");
  for (const char* group : {"parameters", "optimizer"})
    EXPECT_EQ(read_arrays(place / "out/checkpoint.h5", group), read_arrays(whole / "checkpoint.h5", group));
  EXPECT_FALSE(fs::exists(place / "out/results.h5"));
}

/// The exit status of a line given to the shell in the folder of the place.
int shell(const Place& place, const std::string& line) {
  const int status = std::system(("cd '" + (place / "").string() + "' && export OMP_NUM_THREADS=1 && " + line).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const std::string program = "'" RIDGELINE_PROGRAM "'";

TEST(Files, DiskFullInTheMiddleOfALaterCheckpoint) {
  const Place place;
  if (shell(place, "unshare -rm true 2>/dev/null") != 0) GTEST_SKIP() << "needs a user's own mounts";
  // Room for two checkpoints, where the third is written beside the second, and the first is still there.
  const auto checkpoint = fs::file_size(place.train("whole") / "checkpoint.h5");
  place.put("full.sh", "mount -t tmpfs -o size=" + std::to_string(5 * checkpoint / 2 + 16384) + " tmpfs disk && " +
                           program +
                           " run tiny.ini -o disk/run --quiet --set train.epochs=9 2>sentence; status=$?; "
                           "cp -r disk/run kept; exit $status\n");
  fs::create_directory(place / "disk");
  EXPECT_EQ(shell(place, "unshare -rm sh full.sh"), 4);
  const std::vector<std::string> said = lines_of(content_of(place / "sentence"));
  ASSERT_EQ(said.size(), 1U);
  for (const char* part : {"disk/run/checkpoint.h5", "No space left"}) expect_contains(said.at(0), part);
  EXPECT_EQ(files_below(place / "kept"), (std::vector<std::string>{"checkpoint.h5", "checkpoint.previous.h5",
                                                                   "deck.ini", "history.csv", "log.txt"}));
  for (const std::string kept : {"kept/checkpoint.h5", "kept/checkpoint.previous.h5"})
    expect_success(place.run({"eval", "tiny.ini", "--checkpoint", kept}));
  EXPECT_GE(hdf5::File::open(place / "kept/checkpoint.h5").attribute_integer("/", "epoch"), 1);
}

TEST(Files, NamesDoNotControlTheTerminal) {
  const Place place;
  const std::string odd =
      "\033]0;title\007\xc2\x9b"
      "31m\xff";
  const Ended ended = place.run({"run", "tiny.ini", "-o", odd});
  expect_success(ended);
  const Ended again = place.run({"report", odd});
  expect_success(again);
  for (const std::string& text : {ended.out, again.out, content_of(place / (odd + "/log.txt"))})
    EXPECT_EQ(printable(text), text);
  const std::string refused = expect_sentence(place.run({"run", "tiny.ini", "-o", odd}), 2);
  EXPECT_EQ(printable(refused), refused);
}

TEST(Files, NamesOfEveryKindAreTaken) {
  const Place place;
  for (const std::string name : {"with spaces; a=b|c&d", "it's \"quoted\" größe", "-100%d{}"}) {
    place.put(name + ".ini", tiny_deck);
    expect_success(place.run({"run", "./" + name + ".ini", "-o", "./" + name}));
    expect_success(place.run({"eval", "./" + name + ".ini", "--checkpoint", "./" + name + "/checkpoint.h5"}));
    expect_success(place.run({"report", "./" + name}));
  }
}

TEST(Files, ADecksNameDoesNotLeadOutOfTheFolderOfRuns) {
  const Place place;
  for (const std::string name : {"..ini", "...ini"}) {
    place.put(name, tiny_deck);
    expect_success(place.run({"run", name, "--overwrite", "--set", "train.epochs=0"}));
  }
  EXPECT_TRUE(fs::exists(place / "runs/deck/checkpoint.h5"));
  EXPECT_FALSE(fs::exists(place / "runs/checkpoint.h5"));
  EXPECT_FALSE(fs::exists(place / "checkpoint.h5"));
}

TEST(Files, ThatMayNotBeRead) {
  const Place place;
  const fs::path run = place.train("run");
  ::chmod((place / "tiny.ini").c_str(), 0);
  if (::access((place / "tiny.ini").c_str(), R_OK) == 0) GTEST_SKIP() << "a superuser may read everything";
  for (const std::string command : {"run", "check"})
    expect_contains(expect_sentence(place.run({command, "tiny.ini"}), 4), "Permission denied");
  ::chmod((place / "tiny.ini").c_str(), 0644);
  ::chmod((run / "checkpoint.h5").c_str(), 0);
  expect_contains(expect_sentence(place.run({"eval", "tiny.ini", "--checkpoint", "run/checkpoint.h5"}), 4),
                  "Permission denied");
  ::chmod((run / "results.h5").c_str(), 0);
  expect_contains(expect_sentence(place.run({"report", "run"}), 4), "Permission denied");
  ::chmod(run.c_str(), 0);
  expect_contains(expect_sentence(place.run({"run", "tiny.ini", "-o", "run", "--overwrite"}), 4), "Permission denied");
  expect_contains(expect_sentence(place.run({"run", "tiny.ini", "-o", "run", "--resume"}), 4), "Permission denied");
  ::chmod(run.c_str(), 0755);
}

TEST(Files, AWorkingFolderThatIsGone) {
  const Place place;
  fs::create_directory(place / "gone");
  const std::string begin = "cd gone && rmdir ../gone && ";
  EXPECT_EQ(shell(place, begin + program + " run missing.ini 2>../sentence"), 2);
  fs::create_directory(place / "gone");
  EXPECT_EQ(shell(place, begin + program + " run '" + (place / "tiny.ini").string() + "' 2>../sentence"), 4);
  EXPECT_EQ(lines_of(content_of(place / "sentence")).size(), 1U);
  fs::create_directory(place / "gone");
  EXPECT_EQ(shell(place, begin + program + " check '" + (place / "tiny.ini").string() + "' >/dev/null"), 0);
}

/// `eval` of a checkpoint is refused with these words, and writes nothing.
void expect_refused(const Place& place, const std::string& checkpoint, const std::vector<std::string>& parts,
                    const std::vector<std::string>& settings = {}) {
  const std::vector<std::string> before = place.files();
  const Ended ended =
      place.run(with_settings({"eval", "tiny.ini", "--checkpoint", checkpoint, "-o", "refused"}, settings));
  const std::string sentence = expect_sentence(ended, 4);
  expect_contains(sentence, checkpoint);
  for (const std::string& part : parts) expect_contains(sentence, part);
  EXPECT_EQ(place.files(), before);
  EXPECT_FALSE(fs::exists(place / "refused"));
}

TEST(Checkpoint, ThatIsNone) {
  const Place place;
  place.train("out");
  const std::string whole = content_of(place / "out/checkpoint.h5");
  expect_refused(place, "missing.h5", {});
  expect_refused(place, "out", {});
  place.put("empty.h5", "");
  expect_refused(place, "empty.h5", {});
  place.put("text.h5", "a checkpoint, honestly\n");
  expect_refused(place, "text.h5", {"HDF5"});
  expect_refused(place, "out/results.h5", {"checkpoint"});
  for (const std::size_t left : {std::size_t{8}, std::size_t{100}, whole.size() / 2, whole.size() - 1}) {
    place.put("short.h5", whole.substr(0, left));
    expect_refused(place, "short.h5", {});
  }
}

TEST(Checkpoint, OfAnotherModel) {
  const Place place;
  place.train("out");
  for (const auto& [setting, difference] :
       std::map<std::string, std::string>{{"model.width=9", "model.width (9, was 8)"},
                                          {"model.blocks=2", "model.blocks (2, was 1)"},
                                          {"attention.functional.heads=3", "attention.functional.heads (3, was 2)"},
                                          {"ffn.mlp.hidden=17", "ffn.mlp.hidden (17, was 16)"},
                                          {"ffn.mlp.activation=relu", "ffn.mlp.activation (relu, was gelu)"},
                                          {"data.mask_channel=yes", "the channels of a token (3 in, "}}) {
    const std::string sentence =
        expect_sentence(place.run({"eval", "tiny.ini", "--checkpoint", "out/checkpoint.h5", "--set", setting}), 2);
    expect_contains(sentence, "the model of the deck tiny.ini is not that of out/checkpoint.h5");
    expect_contains(sentence, difference);
  }
}

/// A copy of a checkpoint, its parameters changed, with a format.
void copy_checkpoint(const fs::path& from, const fs::path& to, const std::function<void(Arrays&)>& change,
                     const hdf5::Value& format = std::int64_t{1}) {
  Arrays parameters = read_arrays(from, "parameters");
  change(parameters);
  hdf5::write_atomically(to, [&](hdf5::File& file) {
    for (const auto& [name, array] : parameters) file.write("parameters/" + name, array.values, array.shape);
    file.write_attribute("/", "format", format);
  });
}

TEST(Checkpoint, OfAnotherModelThatDoesNotSayOfWhich) {
  const Place place;
  copy_checkpoint(place.train("out") / "checkpoint.h5", place / "copy.h5", [](Arrays&) {});
  const std::string file = "copy.h5";
  expect_refused(place, file, {"another model", "[8, 2]", "[9, 2]"}, {"model.width=9"});
  expect_refused(place, file, {"another model", "blocks.1"}, {"model.blocks=2"});
  expect_refused(place, file, {"another model"}, {"attention.functional.heads=3"});
  expect_refused(place, file, {"another model"}, {"ffn.mlp.hidden=17"});
  copy_checkpoint(place.train("deeper", {"model.blocks=2"}) / "checkpoint.h5", place / "deeper.h5", [](Arrays&) {});
  expect_refused(place, "deeper.h5", {"another model", "blocks.1"});
}

TEST(Checkpoint, OfOnlyParametersIsEnough) {
  const Place place;
  const fs::path run = place.train("out");
  copy_checkpoint(run / "checkpoint.h5", place / "copy.h5", [](Arrays&) {});
  expect_success(place.run({"eval", "tiny.ini", "--checkpoint", "copy.h5", "-o", "again"}));
  EXPECT_EQ(content_of(place / "again/metrics.json"), content_of(run / "metrics.json"));
}

TEST(Checkpoint, WithAValueThatIsNotFinite) {
  const Place place;
  const fs::path run = place.train("out");
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity(), 1e300}) {
    copy_checkpoint(run / "checkpoint.h5", place / "bad.h5",
                    [&](Arrays& arrays) { arrays.at("head.weight").values[3] = value; });
    expect_refused(place, "bad.h5", {"head.weight", "finite"});
  }
}

TEST(Checkpoint, OfANewerFormat) {
  const Place place;
  const fs::path run = place.train("out");
  copy_checkpoint(
      run / "checkpoint.h5", place / "new.h5", [](Arrays&) {}, std::int64_t{99});
  expect_refused(place, "new.h5", {"format 99", "newer"});
  copy_checkpoint(
      run / "checkpoint.h5", place / "odd.h5", [](Arrays&) {}, std::string("later"));
  expect_refused(place, "odd.h5", {"format"});
}

TEST(Checkpoint, ThatLacksAParameterOrHasOneMore) {
  const Place place;
  const fs::path run = place.train("out");
  copy_checkpoint(run / "checkpoint.h5", place / "less.h5", [](Arrays& arrays) { arrays.erase("head.bias"); });
  expect_refused(place, "less.h5", {"head.bias"});
  copy_checkpoint(run / "checkpoint.h5", place / "more.h5", [](Arrays& arrays) { arrays["tail.bias"] = {{1}, {0}}; });
  expect_refused(place, "more.h5", {"tail.bias"});
  copy_checkpoint(run / "checkpoint.h5", place / "turned.h5", [](Arrays& arrays) {
    arrays.at("encoder.0.weight").shape = {2, 8};
  });
  expect_refused(place, "turned.h5", {"encoder.0.weight", "[2, 8]", "[8, 2]"});
}

TEST(Checkpoint, ThatDeclaresMoreThanItHolds) {
  const Place place;
  const fs::path run = place.train("out");
  for (const hsize_t length : {hsize_t{1} << 40, hsize_t{1} << 62}) {
    copy_checkpoint(run / "checkpoint.h5", place / "huge.h5", [](Arrays& arrays) { arrays.erase("head.bias"); });
    test::put(place / "huge.h5", content_of(place / "huge.h5").substr(hdf5::seal_bytes));  // to be changed in place
    const hid_t file = H5Fopen((place / "huge.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk = 1024;
    H5Pset_chunk(properties, 1, &chunk);
    const hid_t space = H5Screate_simple(1, &length, nullptr);
    const hid_t data =
        H5Dcreate2(file, "/parameters/head.bias", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    ASSERT_GE(data, 0);
    H5Dclose(data);
    H5Sclose(space);
    H5Pclose(properties);
    H5Fclose(file);
    expect_refused(place, "huge.h5", {"head.bias"});
  }
}

TEST(Checkpoint, RefusedLeavesTheRunThatWasToBeOverwritten) {
  const Place place;
  const fs::path run = place.train("out");
  const std::string metrics = content_of(run / "metrics.json");
  const std::vector<std::string> before = place.files();
  expect_sentence(place.run({"eval", "tiny.ini", "--checkpoint", "missing.h5", "-o", "out", "--overwrite"}), 4);
  EXPECT_EQ(place.files(), before);
  EXPECT_EQ(content_of(run / "metrics.json"), metrics);
}

TEST(Files, ReportOfAFolderThatHoldsNoRun) {
  const Place place;
  expect_contains(expect_sentence(place.run({"report", "missing"}), 4), "missing");
  expect_contains(expect_sentence(place.run({"report", "tiny.ini"}), 4), "tiny.ini");
  expect_contains(expect_sentence(place.run({"report", "."}), 4), "no run");
}

TEST(Files, ReportOfResultsThatAreDamaged) {
  const Place place;
  const fs::path run = place.train("out");
  const std::string results = content_of(run / "results.h5");
  place.put("out/results.h5", results.substr(0, results.size() / 2));
  expect_contains(expect_sentence(place.run({"report", "out"}), 4), "results.h5");
}

}  // namespace
}  // namespace ridgeline::program
