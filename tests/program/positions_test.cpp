// Positions as a user meets them: named in a deck, by the model and by attention, built in and a plugin's.
#include "outcome.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::expect_contains;

const std::vector<std::string> tisa = {"model.attention=softmax", "attention.softmax.heads=2",
                                       "attention.softmax.position=tisa", "position.tisa.kernels=3"};

std::vector<std::string> and_also(std::vector<std::string> settings, const std::vector<std::string>& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

Arrays parameters_of(const fs::path& run) { return read_arrays(run / "checkpoint.h5", "parameters"); }

/// build/NAME/plugins/alibi.so
std::string alibi() { return (fs::path(RIDGELINE_BINARY_DIR) / "plugins" / "alibi.so").string(); }

TEST(Positions, OfTokensAreAddedOrConcatenated) {
  const Place place;
  const std::vector<std::string> as_long = {"eval.far.x=-3 3 0.5"};
  const fs::path plain = place.train("plain", as_long);
  const auto predictions = [](const fs::path& run) { return read_set(run / "results.h5", "id").predictions.values; };
  for (const std::string position : {"sinusoidal", "learned"})
    for (const std::string mode : {"add", "concatenate"}) {
      const fs::path run = place.train(
          position + mode, and_also(as_long, {"model.position=" + position, "model.position_mode=" + mode}));
      EXPECT_NE(predictions(run), predictions(plain));
      const std::int64_t inputs = mode == "add" ? 2 : 2 + 8;
      EXPECT_EQ(parameters_of(run).at("encoder.0.weight").shape, (std::vector<std::int64_t>{8, inputs}));
      const std::string deck = content_of(run / "deck.ini");
      expect_contains(deck, "position = " + position + "\n");
      expect_contains(deck, "[position." + position + "]\nchannels = 0\n");
      expect_success(place.run({"run", position + mode + "/deck.ini", "-o", "again", "--overwrite"}));
      expect_same_outcome(run, place / "again");
    }
  EXPECT_EQ(parameters_of(place / "learnedadd").at("position.table").shape, (std::vector<std::int64_t>{12, 8}));
}

TEST(Positions, AFinalNormStandsBeforeTheHead) {
  const Place place;
  const Arrays parameters = parameters_of(place.train("out", {"model.final_norm=yes", "model.residual=pre"}));
  EXPECT_EQ(parameters.at("final_norm.weight").shape, std::vector<std::int64_t>{8});
  EXPECT_NE(parameters.at("final_norm.bias").values, std::vector<double>(8));
}

/// Trained on 12 points, evaluated on 12 and on 24.
TEST(Positions, AModelWithTisaIsEvaluatedAtTwiceTheLength) {
  const Place place;
  const fs::path run = place.train("out", and_also(tisa, {"eval.far.x=-3 9 0.5"}));
  const SetArrays far = read_set(run / "results.h5", "far");
  EXPECT_EQ(far.predictions.shape, (std::vector<std::int64_t>{10, 24, 1}));
  EXPECT_GT(read_metrics(run / "metrics.json").at("trained").at("far").at("mse").value(), 0);
  const Arrays trained = parameters_of(run),
               untrained = parameters_of(place.train("none", and_also(tisa, {"train.epochs=0"})));
  for (const std::string name : {"offsets", "amplitudes", "sharpness"}) {
    const std::string parameter = "blocks.0.attention.tisa." + name;
    EXPECT_EQ(trained.at(parameter).shape, (std::vector<std::int64_t>{3, 2}));
    EXPECT_NE(trained.at(parameter).values, untrained.at(parameter).values);
  }
  expect_contains(content_of(run / "deck.ini"), "[position.tisa]\nkernels = 3\n");
  expect_success(place.run({"run", "out/deck.ini", "-o", "again"}));
  expect_same_outcome(run, place / "again");
}

TEST(Positions, APluginGivesAnotherScoringFunction) {
  const Place place;
  const std::vector<std::string> settings = {"run.plugins=" + alibi(), "model.attention=softmax",
                                             "attention.softmax.heads=2", "attention.softmax.position=alibi"};
  const fs::path run = place.train("out", settings);
  const std::string parameter = "blocks.0.attention.alibi.slopes";
  EXPECT_EQ(parameters_of(run).at(parameter).shape, std::vector<std::int64_t>{2});
  EXPECT_NE(parameters_of(run).at(parameter).values,
            parameters_of(place.train("none", and_also(settings, {"train.epochs=0"}))).at(parameter).values);
  const std::string deck = content_of(run / "deck.ini");
  expect_contains(deck, "plugins = " + alibi() + "\n");
  expect_contains(deck, "[position.alibi]\nsteepest = 0.5\n");
  const Ended listed = place.run({"layers", "position", "--plugin", alibi()});
  expect_success(listed);
  expect_contains(listed.out, "position/alibi");
  expect_contains(listed.out, "from " + alibi());
}

TEST(Positions, DifferByBlockAsAttentionDoes) {
  const Place place;
  const fs::path run = place.train("out", and_also(tisa, {"model.blocks=2", "model.attention=functional softmax"}));
  const Arrays parameters = parameters_of(run);
  EXPECT_EQ(parameters.count("blocks.0.attention.query_basis.weight"), 1U);
  EXPECT_EQ(parameters.count("blocks.1.attention.tisa.offsets"), 1U);
  const std::string deck = content_of(run / "deck.ini");
  expect_contains(deck, "attention = functional softmax\n");
  expect_contains(deck, "[attention.functional]\n");
  expect_contains(deck, "[attention.softmax]\n");
  expect_success(place.run({"run", "out/deck.ini", "-o", "again"}));
  expect_same_outcome(run, place / "again");
}

/// The sentence with which these settings are refused.
std::string refused(const std::vector<std::string>& settings) {
  const Place place;
  const Ended ended = place.run(with_settings({"run", "tiny.ini", "-o", "out"}, settings));
  EXPECT_FALSE(fs::exists(place / "out"));
  return expect_sentence(ended, 2);
}

TEST(Positions, ThatCannotBeHad) {
  expect_contains(refused({"model.position=image", "model.position_mode=concatenate"}), "the samples are no images");
  expect_contains(
      refused({"model.position=learned"}),
      "--set: [model] position = learned cannot be had for the set far: position/learned has numbers for at "
      "most 12 tokens, and a sample of 18 is too long.");
  expect_contains(refused({"model.position=tisa"}), "is a bias of attention's scores, and tokens have none");
  expect_contains(refused({"attention.functional.position=tisa"}), "position is not a known key");
  expect_contains(refused({"model.attention=softmax", "attention.softmax.position=learned"}),
                  "gives channels to tokens, and no bias to scores; it takes none or tisa.");
  expect_contains(refused({"model.attention=softmax", "attention.softmax.position=tsia"}), "did you mean tisa?");
  expect_contains(refused({"position.tisa.kernels=-1"}), "out of range");
  expect_contains(refused({"model.attention=functional softmax"}), "names 2 layers, and there is 1 block");
  expect_contains(refused({"model.attention=softmax", "attention.softmax.extra_channels=3"}),
                  "extra_channels = 3 is not what the samples have, 0; leave it out.");
}

}  // namespace
}  // namespace ridgeline::program
