// Models of images as a user has them: training, evaluation, the report, and what is wrong with files and decks.
#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "core/random.hpp"
#include "io/history.hpp"
#include "io/image_file.hpp"
#include "io/results.hpp"
#include "outcome.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;

/// 4 x 3 images of 3 levels: a bar that runs down or across, with a pixel of noise. Label: how it runs, plus 2 in the
/// second half of the images.
Images bars(int count, int channels = 1, int rows = 4, int columns = 3) {
  Images images;
  images.count = count;
  images.rows = rows;
  images.columns = columns;
  images.channels = channels;
  images.has_channel_extent = channels > 1;
  images.largest_level = 2;
  const RandomStream noise(7, "bars");
  for (int i = 0; i < count; ++i) {
    const int size = rows * columns * channels;
    const auto spot = static_cast<int>(noise.below(static_cast<std::uint64_t>(i), static_cast<std::uint32_t>(size)));
    for (int j = 0; j < size; ++j) {
      const int row = j / channels / columns, column = j / channels % columns;
      const bool on_bar = i % 2 == 0 ? column == 1 : row == 2;
      images.levels.push_back(static_cast<std::uint16_t>(j == spot ? 1 : on_bar ? 2 : 0));
    }
    images.labels.push_back(i % 2 + (2 * i >= count ? 2 : 0));
  }
  return images;
}

constexpr const char* deck = R"([data]
task = images
file = images.h5
classes = 0 1
[model]
width = 8
blocks = 2
residual = pre
attention = ATTENTION
final_norm = yes
[encoder.mlp]
layers = 1
[ffn.mlp]
hidden = 12
[train]
batch = 5
epochs = 3
learning_rate = 1e-2
eval_every = 1
[report]
samples = 6
[eval.id]
part = test
[eval.ood]
part = test
classes = 2 3
)";

class ImagesPlace : public Place {
 public:
  explicit ImagesPlace(const std::string& attention = "causal", const std::string& more = "", int channels = 1) {
    hdf5::write_atomically(*this / "images.h5", [&](hdf5::File& file) {
      write_images(file, "train", bars(20, channels));
      write_images(file, "test", bars(12, channels));
    });
    std::string text = deck;
    text.replace(text.find("ATTENTION"), 9, attention);
    put("images.ini", text + more);
  }
  fs::path train(const std::string& output, const std::vector<std::string>& settings = {}) const {
    expect_success(run(with_settings({"run", "images.ini", "-o", output, "--quiet"}, settings)));
    return *this / output;
  }
  Ended sample(const std::string& run_folder, const Arguments& more) const {
    Arguments arguments{"sample", "--checkpoint", run_folder + "/checkpoint.h5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
};

/// Mean bits per dimension of a set of results.h5, from the logits in it.
double bits_in(const fs::path& results, const std::string& name) {
  const ResultSet<double> set = read_result_set<double>(hdf5::File::open(results), name);
  const auto levels = static_cast<std::size_t>(set.outputs / set.targets);
  double sum = 0;
  for (std::size_t i = 0; i < set.truth.size(); ++i) {
    double exponentials = 0;
    for (std::size_t level = 0; level < levels; ++level) exponentials += std::exp(set.predictions[i * levels + level]);
    sum +=
        std::log2(exponentials) - set.predictions[i * levels + static_cast<std::size_t>(set.truth[i])] / std::log(2.0);
  }
  return sum / static_cast<double>(set.truth.size());
}

class ImagesOf : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Attention, ImagesOf, ::testing::Values("causal", "causal_linear"));

TEST_P(ImagesOf, AreLearnt) {
  const ImagesPlace place(GetParam());
  const fs::path run = place.train("run", {"train.epochs=30"});
  const AllFigures metrics = read_metrics(run / "metrics.json");
  for (const char* set : {"train", "id", "ood"}) {
    EXPECT_NEAR(*metrics.at("trained").at(set).at("bits_per_dimension"), bits_in(run / "results.h5", set), 1e-5) << set;
    EXPECT_NEAR(*metrics.at("trained").at(set).at("bits_per_dimension") * std::log(2.0),
                *metrics.at("trained").at(set).at("cross_entropy"), 1e-12);
  }
  EXPECT_LT(*metrics.at("trained").at("train").at("bits_per_dimension"),
            0.75 * *metrics.at("untrained").at("train").at("bits_per_dimension"));
  const std::string text = test::content_of(run / "history.csv");
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "epoch,step,loss,learning_rate,seconds,tokens_per_second,train_bits_per_dimension,id_bits_per_dimension,"
            "ood_bits_per_dimension");
  EXPECT_EQ(History::read(run / "history.csv").rows.back().set_values[1],
            metrics.at("trained").at("id").at("bits_per_dimension"));
  const Images made = read_images(hdf5::File::open(run / "results.h5"), "generated", false);
  EXPECT_EQ(made.count, 6);
  EXPECT_EQ(made.rows, 4);
  EXPECT_LE(made.largest_level, 2);
}

TEST_P(ImagesOf, GoOnWhereTheyWereStopped) {
  const ImagesPlace place(GetParam());
  const fs::path whole = place.train("whole");
  place.train("parts", {"train.epochs=1"});
  expect_success(place.run({"run", "images.ini", "-o", "parts", "--resume", "--quiet"}));
  const AllFigures one = read_metrics(whole / "metrics.json"), other = read_metrics(place / "parts/metrics.json");
  EXPECT_EQ(one, other);
  EXPECT_EQ(History::read(whole / "history.csv").rows.back().set_values,
            History::read(place / "parts/history.csv").rows.back().set_values);
  EXPECT_EQ(read_images(hdf5::File::open(whole / "results.h5"), "generated", false).levels,
            read_images(hdf5::File::open(place / "parts/results.h5"), "generated", false).levels);
}

TEST_P(ImagesOf, EvaluatedAgainAreTheSame) {
  const ImagesPlace place(GetParam());
  const fs::path run = place.train("run");
  // The resolved deck stands in another folder: what it names is found from there too.
  expect_success(place.run({"eval", "run/deck.ini", "--checkpoint", "run/checkpoint.h5", "-o", "again", "--quiet"}));
  EXPECT_EQ(read_metrics(run / "metrics.json"), read_metrics(place / "again/metrics.json"));
}

TEST_P(ImagesOf, AreMadeAgainFromTheSameSeed) {
  const ImagesPlace place(GetParam());
  place.train("run");
  const auto made = [&](const Arguments& more) {
    Arguments arguments = more;
    arguments.insert(arguments.end(), {"--output", "made.h5"});
    expect_success(place.sample("run", arguments));
    return read_images(hdf5::File::open(place / "made.h5"), "generated", false);
  };
  const Images first = made({"--count", "9"});
  EXPECT_EQ(first.count, 9);
  EXPECT_EQ(first.rows, 4);
  EXPECT_EQ(first.columns, 3);
  EXPECT_TRUE(first.labels.empty());
  EXPECT_EQ(made({"--count", "9"}).levels, first.levels);
  EXPECT_NE(made({"--count", "9", "--seed", "2"}).levels, first.levels);
  EXPECT_EQ(made({"--count", "9", "--set", "train.batch=2"}).levels, first.levels);
  test::expect_contains(place.sample("run", {"--count", "1", "--output", "made.h5"}).out,
                        "1 image of 4 x 3 pixels in ");
  const Images fewer = made({"--count", "3"});
  EXPECT_TRUE(std::equal(fewer.levels.begin(), fewer.levels.end(), first.levels.begin()));
  const Images greedy = made({"--count", "2", "--temperature", "0"});
  EXPECT_TRUE(std::equal(greedy.levels.begin(), greedy.levels.begin() + 12, greedy.levels.begin() + 12));
  EXPECT_EQ(made({"--count", "2", "--temperature", "0", "--seed", "5"}).levels, greedy.levels);
}

TEST_P(ImagesOf, BeginAsTheyAreGiven) {
  const ImagesPlace place(GetParam());
  place.train("run");
  const auto made = [&](const Arguments& more) {
    Arguments arguments{"--count", "12", "--output", "made.h5"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_success(place.sample("run", arguments));
    return read_images(hdf5::File::open(place / "made.h5"), "generated", false);
  };
  const Images given = bars(12), ended = made({"--given", "images.h5", "--keep", "2"});
  for (int i = 0; i < 12; ++i) EXPECT_TRUE(std::equal(given.image(i), given.image(i) + 6, ended.image(i))) << i;
  EXPECT_EQ(made({"--given", "images.h5", "--keep", "4"}).levels, given.levels);
  // What was made goes on as it did, wherever it is taken up: the draws are those of the pixel.
  const Images whole = made({});
  fs::rename(place / "made.h5", place / "whole.h5");
  for (int keep = 0; keep <= 4; ++keep)
    EXPECT_EQ(made({"--given", "whole.h5", "--part", "generated", "--keep", std::to_string(keep)}).levels, whole.levels)
        << keep;
}

TEST(Images, OfAClassAreMadeOfThatClass) {
  const ImagesPlace place("causal");
  place.train("run", {"model.extra=class", "train.epochs=40"});
  expect_success(place.sample("run", {"--count", "8", "--class", "1", "--output", "made.h5"}));
  EXPECT_EQ(read_images(hdf5::File::open(place / "made.h5"), "generated", true).labels,
            std::vector<std::int32_t>(8, 1));
  expect_success(place.sample("run", {"--count", "5", "--output", "made.h5", "--temperature", "0"}));
  const Images turns = read_images(hdf5::File::open(place / "made.h5"), "generated", true);
  EXPECT_EQ(turns.labels, (std::vector<std::int32_t>{0, 1, 0, 1, 0}));
  EXPECT_FALSE(std::equal(turns.image(0), turns.image(1), turns.image(1)));  // the class makes a difference
  EXPECT_NE(expect_sentence(place.sample("run", {"--count", "1", "--class", "3", "--output", "x.h5"}), 2)
                .find("--class 3 is none that run/checkpoint.h5 was trained on; it takes 0 or 1."),
            std::string::npos);
  EXPECT_FALSE(fs::exists(place / "x.h5"));
}

/// A file of images of so many levels and labels, as both its parts.
void put_images_of(const Place& place, const std::string& name, int levels, int labels, int channels = 1) {
  Images images = bars(20, channels);
  for (std::size_t i = 0; i < images.levels.size(); ++i)
    images.levels[i] = static_cast<std::uint16_t>(i % static_cast<std::size_t>(levels));
  images.largest_level = levels - 1;
  for (std::size_t i = 0; i < images.labels.size(); ++i) images.labels[i] = static_cast<int>(i) % labels;
  Images others = images;
  std::reverse(others.levels.begin(), others.levels.end());
  hdf5::write_atomically(place / name, [&](hdf5::File& file) {
    write_images(file, "train", images);
    write_images(file, "test", others);
  });
}

TEST(Images, OtherThanThoseOfTheModelAreToldFromThemByWhatDiffers) {
  const ImagesPlace place("causal");
  const std::vector<std::string> told{"model.extra=class", "data.classes=all", "eval.ood.classes=all"};
  place.train("run", told);
  const auto expect = [&](const std::string& file, const std::vector<std::string>& parts) {
    Arguments sample{"sample", "--checkpoint", "run/checkpoint.h5", "--count", "1", "--output", "made.h5"};
    Arguments eval{"eval", "images.ini", "--checkpoint", "run/checkpoint.h5"};
    for (const std::string& setting : told) eval.insert(eval.end(), {"--set", setting});
    for (Arguments* arguments : {&sample, &eval}) {
      arguments->insert(arguments->end(), {"--set", "data.file=" + file});
      const std::string sentence = expect_sentence(place.run(*arguments), 2);
      test::expect_contains(sentence, file + " are not such as the model of run/checkpoint.h5 was made for: they ");
      for (const std::string& part : parts) test::expect_contains(sentence, part);
      EXPECT_EQ(sentence.find("extra_channels"), std::string::npos) << sentence;
    }
  };
  const std::string labels = "the labels that the model is told (0 to ";
  put_images_of(place, "labels.h5", 3, 6);
  expect("labels.h5", {labels + "5, was 0 to 3)."});
  put_images_of(place, "fewer.h5", 3, 2);
  expect("fewer.h5", {labels + "1, was 0 to 3)."});
  put_images_of(place, "levels.h5", 9, 4);
  expect("levels.h5", {"the levels of a pixel (9 in 1 channel, was 3 in all)."});
  put_images_of(place, "colours.h5", 3, 6, 3);
  expect("colours.h5", {"the levels of a pixel (3 in 3 channels, was 3 in all) and ", labels + "5, was 0 to 3)."});
  put_images_of(place, "alike.h5", 3, 4);
  expect_success(place.sample("run", {"--count", "1", "--output", "made.h5", "--set", "data.file=alike.h5"}));
  // The run's own file, now another one: to go on with it would be to train on other classes.
  fs::rename(place / "labels.h5", place / "images.h5");
  Arguments resume = with_settings({"run", "images.ini", "-o", "run", "--resume"}, told);
  test::expect_contains(expect_sentence(place.run(resume), 2), labels + "5, was 0 to 3).");
}

TEST(Images, MayHaveChannels) {
  const ImagesPlace place("causal", "", 2);
  const fs::path run = place.train("run", {"train.epochs=20"});
  EXPECT_NEAR(*read_metrics(run / "metrics.json").at("trained").at("id").at("bits_per_dimension"),
              bits_in(run / "results.h5", "id"), 1e-5);
  expect_success(place.sample("run", {"--count", "3", "--output", "made.h5"}));
  EXPECT_EQ(hdf5::File::open(place / "made.h5").shape("generated/images"), (hdf5::Shape{3, 4, 3, 2}));
}

TEST(Images, SeeThemselvesOnlyBehindAMaskedCentre) {
  const ImagesPlace place("causal");
  const std::string sentence =
      expect_sentence(place.run({"run", "images.ini", "-o", "run", "--set", "model.extra=image"}), 2);
  EXPECT_NE(sentence.find("not autoregressive"), std::string::npos) << sentence;
  EXPECT_NE(
      sentence.find("block 0 (attention causal, ffn mlp) lets the prediction of token 0 see the target of token 0"),
      std::string::npos)
      << sentence;
  EXPECT_FALSE(fs::exists(place / "run"));
  EXPECT_NE(sentence.find("with `extra = image` [attention.causal] needs `mask_center = yes`."), std::string::npos)
      << sentence;
  expect_sentence(place.run({"check", "images.ini", "--set", "model.extra=image"}), 2);
  const std::vector<std::string> masked{"model.extra=image", "attention.causal.mask_center=yes"};
  const Ended checked = place.run(with_settings({"check", "images.ini"}, masked));
  expect_success(checked);
  EXPECT_NE(checked.out.find("no prediction sees its own token or a later one"), std::string::npos);
  place.train("run", masked);
  expect_success(place.sample("run", {"--count", "3", "--output", "made.h5"}));
}

TEST(Images, AreToldWhichAttentionNeedsAMaskedCentre) {
  const ImagesPlace place("causal causal_linear", "[attention.causal]\nmask_center = yes\n");
  const std::string sentence = expect_sentence(place.run({"check", "images.ini", "--set", "model.extra=image"}), 2);
  EXPECT_NE(sentence.find("with `extra = image` [attention.causal_linear] needs `mask_center = yes`."),
            std::string::npos)
      << sentence;
}

TEST(Images, HaveAReportWithImagesInIt) {
  if (!gnuplot_is_there()) GTEST_SKIP() << "there is no gnuplot for the figures";
  const ImagesPlace place("causal", "[attention.causal]\nheads = 2\nposition = tisa\n");
  Surroundings surroundings;
  surroundings.gnuplot = true;
  expect_success(place.run({"run", "images.ini", "-o", "run"}, surroundings));
  for (const char* name : {"loss", "metrics", "time", "generated", "score_biases", "predictions_id", "predictions_ood"})
    for (const char* ending : {".svg", ".png"}) {
      const fs::path file = place / "run/figures" / (std::string(name) + ending);
      EXPECT_TRUE(fs::exists(file) && fs::file_size(file) > 1000) << file;
    }
  const std::string page = test::content_of(place / "run/report.html");
  for (const char* part :
       {"Made by the model", "What attention adds by distance", "bits per dimension", "images × pixels"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  expect_success(
      place.run({"sample", "--checkpoint", "run/checkpoint.h5", "--count", "4", "--output", "made.h5"}, surroundings));
  EXPECT_TRUE(fs::exists(place / "made.png"));
  expect_success(place.run({"run", "images.ini", "-o", "run", "--overwrite", "--quiet"}));
  EXPECT_FALSE(fs::exists(place / "run/figures/generated.svg"));
}

TEST(Images, ATestSetThatIsTheTrainingSetIsPointedOut) {
  const ImagesPlace place("causal");
  const std::string warning = "[eval.id] has the samples of the training set.";
  const Ended odd = place.run({"check", "images.ini", "--set", "eval.id.part=train"});
  EXPECT_EQ(odd.status, 0);
  EXPECT_NE(odd.err.find(warning), std::string::npos) << odd.err;
  EXPECT_EQ(place.run({"check", "images.ini"}).err, "");
  const Ended trained = place.run({"run", "images.ini", "-o", "run", "--set", "eval.id.part=train", "--quiet"});
  EXPECT_EQ(trained.status, 0);
  EXPECT_NE(trained.err.find(warning), std::string::npos) << trained.err;
  EXPECT_NE(test::content_of(place / "run/log.txt").find(warning), std::string::npos);
}

TEST(Images, MayStandInAFolderWithBlanksInItsName) {
  const ImagesPlace place("causal");
  fs::create_directory(place / "my own data");
  fs::rename(place / "images.h5", place / "my own data/the images.h5");
  const std::vector<std::string> settings{"data.file=my own data/the images.h5"};
  place.train("run", settings);
  // The resolved deck names it in full, and is read again.
  expect_success(place.run({"eval", "run/deck.ini", "--checkpoint", "run/checkpoint.h5", "--quiet"}));
  expect_success(place.sample("run", {"--count", "1", "--output", "made.h5"}));
}

TEST(Images, RunsOfSeveralDecksAreCompared) {
  const ImagesPlace place("causal");
  place.put("other.ini", test::content_of(place / "images.ini"));
  const Ended ended = place.run({"run", "images.ini", "other.ini", "-o", "both"});
  expect_success(ended);
  EXPECT_NE(ended.out.find("id bits/dim"), std::string::npos) << ended.out;
  const std::string csv = test::content_of(place / "both/comparison.csv");
  EXPECT_NE(csv.find("id_bits_per_dimension,id_cross_entropy,id_accuracy"), std::string::npos) << csv;
}

TEST(Images, OfSeveralDecksAreProvedBeforeAnyFolderIsEmptied) {
  const ImagesPlace place("causal");
  std::string leaky = test::content_of(place / "images.ini");
  leaky.replace(leaky.find("blocks"), 0, "extra = image\n");
  place.put("leaky.ini", leaky + "[attention.causal]\nmask_center = yes\n");
  const Arguments call{"run", "images.ini", "leaky.ini", "-o", "both", "--quiet"};
  expect_success(place.run(call));
  const std::vector<std::string> before = files_below(place / "both");
  place.put("leaky.ini", leaky);
  Arguments again = call;
  again.emplace_back("--overwrite");
  const std::string sentence = expect_sentence(place.run(again), 2);
  EXPECT_EQ(sentence.rfind("leaky.ini: the model is not autoregressive", 0), 0U) << sentence;
  EXPECT_EQ(files_below(place / "both"), before);
}

/// large.h5 with these images to train on, and in the other order, each from its end, to test on.
void put_images(const Place& place, const Images& images) {
  Images others = images;
  std::reverse(others.levels.begin(), others.levels.end());
  hdf5::write_atomically(place / "large.h5", [&](hdf5::File& file) {
    write_images(file, "train", images);
    write_images(file, "test", others);
  });
}

TEST(Images, AreCheckedWhereTheRunWouldNotFitInMemory) {
  const ImagesPlace place("causal");
  const auto check = [&](const std::vector<std::string>& settings, const Surroundings& surroundings) {
    const Ended ended = place.run(with_settings({"check", "images.ini"}, settings), surroundings);
    expect_success(ended);
    return ended.out;
  };
  // Neither the run fits in memory nor what would have to be tried.
  const std::string huge = check({"model.width=200000"}, {});
  EXPECT_NE(huge.find("autoregressive not tried: that takes "), std::string::npos) << huge;
  EXPECT_NE(huge.find("TiB"), std::string::npos) << huge;
  if (is_watched) return;  // a sanitizer takes more address space than any limit
  put_images(place, bars(4000));
  Surroundings surroundings;
  surroundings.address_space = std::size_t{3} << 30;
  const std::vector<std::string> large{"data.file=" + (place / "large.h5").string(), "data.levels=3000"};
  const std::string tried = check(large, surroundings);
  EXPECT_NE(tried.find("tried on this model"), std::string::npos) << tried;
  const std::string sentence = expect_sentence(place.run(with_settings({"run", "images.ini"}, large), surroundings), 2);
  EXPECT_NE(sentence.find("GiB are free"), std::string::npos) << sentence;
}

TEST(Images, AreNotMadeByAModelThatCannotGoFromTokenToToken) {
  const ImagesPlace place("forgetful");
  const std::string plugin = (fs::path(RIDGELINE_BINARY_DIR) / "loaded/loaded_forgetful.so").string();
  const auto warns = [&](Arguments arguments) {
    arguments.insert(arguments.end(), {"--plugin", plugin, "--quiet"});
    const Ended ended = place.run(arguments);
    EXPECT_EQ(ended.status, 0) << ended.err;
    return ended.err.find("the report will have no images that the model made: blocks.0.attention") !=
           std::string::npos;
  };
  EXPECT_TRUE(warns({"run", "images.ini", "-o", "run"}));
  const Arguments eval{"eval", "run/deck.ini", "--checkpoint", "run/checkpoint.h5"};
  EXPECT_FALSE(warns(eval));  // no report
  Arguments with_report = eval;
  with_report.insert(with_report.end(), {"-o", "again"});
  EXPECT_TRUE(warns(with_report));
}

TEST(Images, MistakesAreSaidInOneSentence) {
  const ImagesPlace place("causal");
  const auto refused = [&](const std::vector<std::string>& settings, const std::string& part, int status = 2) {
    const std::string sentence = expect_sentence(place.run(with_settings({"check", "images.ini"}, settings)), status);
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
  };
  refused({"model.attention=functional"}, "names functional, which lets a token see later ones");
  refused({"data.part=valid"}, "[data] part = valid is no group of");
  hdf5::write_atomically(place / "labels.h5", [](hdf5::File& file) {
    write_images(file, "train", bars(4));
    Images others = bars(2);
    others.labels.assign(others.labels.size(), 9);
    write_images(file, "test", others);
  });
  std::vector<std::string> more_labels{"data.file=labels.h5", "eval.id.classes=all", "eval.ood.classes=9"};
  expect_success(place.run(with_settings({"check", "images.ini"}, more_labels)));
  more_labels.push_back("model.extra=class");
  refused(more_labels,
          "tells a model which class a sample is of, and the set id has the class 9 where those of the training part "
          "reach");
  refused({"train.loss=hidden"},
          "[train] loss = hidden is for tasks that show some targets to the model, and images shows none");
  refused({"data.classes=0 9"}, "has 9, which no image of the part train shows");
  refused({"data.levels=2"}, "is too few");
  refused({"data.file=none.h5"}, "none.h5", 4);
  refused({"report.tisa_heads=0"}, "names heads, and no attention of this model has a bias by distance");
  const std::string tisa = "attention.causal.position=tisa";
  refused({tisa, "report.tisa_heads=0 first"},
          "[report] tisa_heads = 0 first has first; it takes all, or heads' numbers");
  refused({"report.tisa_heads=all all"}, "[report] tisa_heads = all all has all beside others");
  refused({tisa, "report.tisa_heads=0 all"}, "has all beside others; it takes all, or heads' numbers, not both.");
  refused({tisa, "attention.causal.heads=2", "report.tisa_heads=0 2"},
          "has 2; it takes all, or heads' numbers, from 0 to 1");
  refused({tisa, "report.tisa_heads=0 0"}, "[report] tisa_heads = 0 0 has 0 twice; once is enough.");
  refused({"report.tisa_distance=3"}, "tisa_distance = 3 is of a bias by distance, and no attention of this model has");
  expect_success(place.run(with_settings({"check", "images.ini"}, {tisa, "report.tisa_distance=3"})));
  refused({"report.samples=-1"}, "[report] samples = -1");
  place.put("text.h5", "no HDF5");
  refused({"data.file=text.h5"}, "text.h5", 4);
  place.put("bare.ini", "[data]\ntask = images\n");
  EXPECT_NE(expect_sentence(place.run({"check", "bare.ini"}), 2).find("file"), std::string::npos);
  const std::string sine = expect_sentence(place.run({"check", "tiny.ini", "--set", "model.extra=class"}), 2);
  EXPECT_NE(sine.find("is what samples of the task sine do not have"), std::string::npos) << sine;
}

TEST(Images, OfAFileThatIsNamedWithoutTheirTask) {
  const ImagesPlace place("causal");
  for (const char* section : {"[data]", "[data]\ntask = sine", "[data]\n[eval.id]"}) {
    place.put("file.ini", std::string(section) + "\nfile = images.h5\n");
    test::expect_contains(expect_sentence(place.run({"check", "file.ini"}), 2),
                          "file = images.h5 is for `task = images` in [data], and the task is sine");
  }
}

TEST(Images, OfAFolderThatNoDeckCanName) {
  const ImagesPlace place("causal");
  fs::create_directory(place / "run #1");
  for (const char* file : {"images.h5", "images.ini"}) fs::copy_file(place / file, place / "run #1" / file);
  const std::vector<std::string> before = place.files();
  const std::string sentence = expect_sentence(place.run({"run", "run #1/images.ini", "-o", "out"}), 2);
  test::expect_contains(sentence, "run #1/images.ini:3: [data] file = images.h5 is in full ");
  test::expect_contains(sentence, "run #1/images.h5, which holds a #");
  EXPECT_EQ(place.files(), before);
}

/// The program's own word for a number, not what a type of fewer bits makes of it.
TEST(Images, LevelsAndLabelsBeyondAnyAreSaidAsTheyAre) {
  const ImagesPlace place("causal");
  const auto refused = [&](std::uint64_t level, std::uint64_t label) {
    const std::vector<std::uint64_t> levels{0, 0, 0, level}, labels{label};
    const hid_t file = H5Fcreate((place / "large.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file, "train", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const auto put = [&](const char* name, std::vector<hsize_t> shape, const std::vector<std::uint64_t>& numbers) {
      const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
      const hid_t set = H5Dcreate2(file, name, H5T_STD_U64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      H5Dwrite(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
      H5Dclose(set);
      H5Sclose(space);
    };
    put("train/images", {1, 2, 2}, levels);
    put("train/labels", {1}, labels);
    H5Fclose(file);
    return expect_sentence(place.run({"check", "images.ini", "--set", "data.file=large.h5"}), 2);
  };
  test::expect_contains(refused(18446744073709551611U, 0), "has a level of 18446744073709551611; levels are");
  test::expect_contains(refused(0, 9223372036854775817U), "is 9223372036854775817; labels are");
  test::expect_contains(refused(9223372036854775807U, 0), "has a level of 9223372036854775807; levels are");
}

TEST(Images, PositionsOfImagesNeedImages) {
  const Place place;
  const std::string sentence = expect_sentence(place.run({"check", "tiny.ini", "--set", "model.position=image"}), 2);
  EXPECT_NE(sentence.find("position/image gives rows and columns of an image's pixels, and the samples are no images"),
            std::string::npos)
      << sentence;
}

TEST(Sample, MistakesAreSaidInOneSentence) {
  const ImagesPlace place("causal");
  place.train("run");
  hdf5::write_atomically(place / "large.h5", [](hdf5::File& file) { write_images(file, "test", bars(2, 1, 5, 3)); });
  Images many = bars(2);
  many.levels[0] = 200;
  hdf5::write_atomically(place / "levels.h5", [&](hdf5::File& file) { write_images(file, "test", many); });
  const auto refused = [&](Arguments more, const std::string& part, int status = 2) {
    more.insert(more.end(), {"--output", "made.h5"});
    const std::string sentence = expect_sentence(place.sample("run", more), status);
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
    EXPECT_FALSE(fs::exists(place / "made.h5"));
  };
  refused({"--count", "0"}, "--count 0 is out of range; it takes a whole number from 1");
  refused({"--count", "many"}, "--count many is not a whole number; it takes");
  refused({"--count", "2", "--seed", "abc"}, "--seed abc is not a whole number; it takes a whole number from 0 to");
  refused({"--count", "2", "--temperature", "warm"},
          "--temperature warm is not a number; it takes a number of at least");
  refused({"--count", "2", "--temperature", "1e999"}, "--temperature 1e999 is out of range");
  refused({"--count", "2", "--temperature", "-0.5"},
          "--temperature -0.5 is out of range; it takes a number of at least 0.");
  refused({"--count", "2", "--temperature", "nan"}, "--temperature nan is not a number");
  refused({"--count", "2", "--seed", "-1"}, "--seed -1 is out of range");
  refused({"--count", "2", "--class", "1"}, "--class 1 chooses what a model with `extra = class` is told");
  refused({"--count", "2", "--given", "images.h5"}, "--given needs --keep");
  refused({"--count", "2", "--part", "train"}, "--part names a group of the file of --given, and needs it");
  refused({"--count", "2", "--keep", "1"}, "--keep says how much of the images of --given stays");
  refused({"--count", "2", "--given", "images.h5", "--keep", "5"}, "--keep 5 is more than an image has: 4 rows.");
  refused({"--count", "2", "--given", "large.h5", "--keep", "1"}, "has images of 5 x 3 pixels");
  refused({"--count", "2", "--given", "levels.h5", "--keep", "1"},
          "has levels up to 200, and the model's are from 0 to 2");
  refused({"--count", "2", "--given", "images.h5", "--part", "valid", "--keep", "1"}, "it has no group valid");
  refused({"--count", "2", "--given", "none.h5", "--keep", "1"}, "none.h5", 4);
  const std::string other = "the model that --set asks for is not that of run/checkpoint.h5: they differ in ";
  refused({"--count", "2", "--set", "model.width=16"}, other + "model.width (16, was 8).");
  refused({"--count", "2", "--set", "data.levels=9"},
          " are not such as the model of run/checkpoint.h5 was made for: they differ in the levels of a pixel (9 in 1 "
          "channel, was 3 in all).");
  // What is there is replaced only where it was made by this command.
  const std::string checkpoint = "run/checkpoint.h5";
  place.put("text", "a text\n");
  for (const char* file : {"run/checkpoint.h5", "run/results.h5", "images.h5", "./images.h5", "text"}) {
    const std::string before = test::content_of(place / file);
    const Ended ended = place.run({"sample", "--checkpoint", checkpoint, "--count", "1", "--output", file});
    EXPECT_NE(expect_sentence(ended, 2).find("and `ridgeline sample` did not make it"), std::string::npos) << ended.err;
    EXPECT_TRUE(test::content_of(place / file) == before) << file;
  }
  place.put("mine.png", "a picture\n");
  for (const auto& [file, part] : std::vector<std::pair<std::string, std::string>>{
           {"new.png", "--output new.png is an HDF5 file, and .png the ending of the picture beside it"},
           {"mine.h5", "has its picture beside it, and mine.png is there already"}}) {
    const Ended ended = place.run({"sample", "--checkpoint", checkpoint, "--count", "1", "--output", file});
    EXPECT_NE(expect_sentence(ended, 2).find(part), std::string::npos) << ended.err;
    EXPECT_FALSE(fs::exists(place / file));
  }
  EXPECT_EQ(test::content_of(place / "mine.png"), "a picture\n");
  place.run({"sample", "--checkpoint", checkpoint, "--count", "1", "--output", "kept.h5"});
  EXPECT_EQ(place.run({"sample", "--checkpoint", checkpoint, "--count", "2", "--output", "kept.h5"}).status, 0);
  EXPECT_NE(expect_sentence(place.sample("run", {"--count", "1", "--given", "kept.h5", "--part", "generated", "--keep",
                                                 "1", "--output", "./kept.h5"}),
                            2)
                .find("is the file of --given"),
            std::string::npos);
  EXPECT_NE(expect_sentence(place.run({"sample", "--count", "1", "--output", "made.h5"}), 2).find("needs --checkpoint"),
            std::string::npos);
}

TEST(Sample, FindsDataThatMoved) {
  const ImagesPlace place("causal");
  place.train("run", {"train.steps=0"});
  fs::rename(place / "images.h5", place / "moved.h5");
  EXPECT_NE(expect_sentence(place.sample("run", {"--count", "1", "--output", "made.h5"}), 4).find("images.h5"),
            std::string::npos);
  expect_success(place.sample("run", {"--count", "1", "--output", "made.h5", "--set", "data.file=moved.h5"}));
}

TEST(Sample, MoreImagesThanThereIsMemoryForAreRefused) {
  if (is_watched) GTEST_SKIP() << "a sanitizer takes more address space than any limit";
  const ImagesPlace place("causal");
  put_images(place, bars(20, 1, 20, 20));
  place.train("run", {"train.steps=0", "report.samples=0", "data.file=" + (place / "large.h5").string()});
  Surroundings surroundings;
  surroundings.address_space = std::size_t{3} << 30;
  const Ended ended = place.run(
      {"sample", "--checkpoint", "run/checkpoint.h5", "--count", "1000000", "--output", "made.h5"}, surroundings);
  const std::string sentence = expect_sentence(ended, 2);
  for (const char* part : {"--count 1000000 needs 4.", "GiB are free; fewer images need less."})
    EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
}

TEST(Sample, IsEndedByASignalAsAnyProgramIs) {
  const ImagesPlace place("causal");
  place.train("run", {"train.steps=0"});
  const std::vector<std::string> before = place.files();
  Surroundings surroundings;
  surroundings.interrupts = {{SIGTERM, "", 300}};
  const Ended ended = place.run(
      {"sample", "--checkpoint", "run/checkpoint.h5", "--count", "1000000", "--output", "made.h5"}, surroundings);
  EXPECT_EQ(ended.status, -1) << ended.err;
  EXPECT_EQ(place.files(), before);
}

TEST(Sample, DrawsTheFirstOfManyImages) {
  if (!gnuplot_is_there()) GTEST_SKIP() << "there is no gnuplot for the picture";
  const ImagesPlace place("causal");
  place.train("run", {"train.steps=0"});
  Surroundings surroundings;
  surroundings.gnuplot = true;
  const auto out = [&](const std::string& count) {
    const Ended ended = place.run(
        {"sample", "--checkpoint", "run/checkpoint.h5", "--count", count, "--output", "made.h5"}, surroundings);
    expect_success(ended);
    return ended.out;
  };
  EXPECT_NE(out("401").find("picture of the first 400: made.png\n"), std::string::npos);
  EXPECT_NE(out("400").find("picture: made.png\n"), std::string::npos);
}

TEST(Sample, TakesAModelThatGoesFromTokenToToken) {
  const Place place;
  place.train("sine");
  const Ended ended =
      place.run({"sample", "--checkpoint", "sine/checkpoint.h5", "--count", "1", "--output", "made.h5"});
  EXPECT_NE(expect_sentence(ended, 2).find("is of the task sine, whose model gives a whole sample at once"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline::program
