#include "io/history.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "unit/files_support.hpp"

namespace ridgeline {
namespace {

using test::content_of;
using test::expect_contains;
using test::file_error;
using test::put;
using test::TemporaryFolder;

constexpr const char* header = "epoch,step,loss,learning_rate,seconds,tokens_per_second";

History example() {
  History history;
  history.sets = {"train", "id", "ood_x"};
  history.rows.push_back({0, 0, 25.5, 1e-4, 0, 0, {25.25, 26.0, std::nullopt}});
  history.rows.push_back({1, 125, 1.0 / 3.0, 1e-4, 0.1, 1234567.891, {std::nullopt, std::nullopt, std::nullopt}});
  return history;
}

TEST(History, IsACommaSeparatedTable) {
  const TemporaryFolder folder;
  example().write(folder / "history.csv");
  EXPECT_EQ(content_of(folder / "history.csv"), std::string(header) +
                                                    ",train_mse,id_mse,ood_x_mse\n"
                                                    "0,0,25.5,0.0001,0,0,25.25,26,\n"
                                                    "1,125,0.3333333333333333,0.0001,0.1,1234567.891,,,\n");
}

TEST(History, TellsOfAnyMetric) {
  const TemporaryFolder folder;
  History written = example();
  written.metric = "bits_per_dimension";
  written.write(folder / "history.csv");
  const std::string content = content_of(folder / "history.csv");
  EXPECT_EQ(content.substr(0, content.find('\n')),
            std::string(header) + ",train_bits_per_dimension,id_bits_per_dimension,ood_x_bits_per_dimension");
  const History read = History::read(folder / "history.csv");
  EXPECT_EQ(read.metric, "bits_per_dimension");
  EXPECT_EQ(read.sets, written.sets);
  EXPECT_EQ(read.rows[0].set_values, written.rows[0].set_values);
}

TEST(History, ComesBackToTheBit) {
  const TemporaryFolder folder;
  History written = example();
  written.rows.push_back({2,
                          std::int64_t{1} << 60,
                          5e-324,
                          std::numeric_limits<double>::max(),
                          1e-300,
                          0.1 + 0.2,
                          {std::nextafter(1.0, 2.0), -0.0, std::numeric_limits<double>::infinity()}});
  written.write(folder / "history.csv");
  const History read = History::read(folder / "history.csv");
  EXPECT_EQ(read.sets, written.sets);
  ASSERT_EQ(read.rows.size(), written.rows.size());
  for (std::size_t index = 0; index < read.rows.size(); ++index) {
    EXPECT_EQ(read.rows[index].epoch, written.rows[index].epoch);
    EXPECT_EQ(read.rows[index].step, written.rows[index].step);
    EXPECT_EQ(read.rows[index].loss, written.rows[index].loss);
    EXPECT_EQ(read.rows[index].learning_rate, written.rows[index].learning_rate);
    EXPECT_EQ(read.rows[index].seconds, written.rows[index].seconds);
    EXPECT_EQ(read.rows[index].tokens_per_second, written.rows[index].tokens_per_second);
    EXPECT_EQ(read.rows[index].set_values, written.rows[index].set_values);
  }
}

TEST(History, KeepsWhatIsNotANumber) {
  const TemporaryFolder folder;
  History written;
  written.rows.push_back({1, 1, -std::nan(""), -std::numeric_limits<double>::infinity(), 0, 0, {}});
  written.write(folder / "history.csv");
  expect_contains(content_of(folder / "history.csv"), "1,1,nan,-inf,0,0\n");
  const History read = History::read(folder / "history.csv");
  EXPECT_TRUE(std::isnan(read.rows.at(0).loss));
  EXPECT_EQ(read.rows.at(0).learning_rate, -std::numeric_limits<double>::infinity());
}

TEST(History, ReadsCarriageReturnsAndNoLastLineBreak) {
  const TemporaryFolder folder;
  put(folder / "history.csv", std::string(header) + ",id_mse\r\n1,2,3,4,5,6,7");
  const History read = History::read(folder / "history.csv");
  EXPECT_EQ(read.sets, std::vector<std::string>{"id"});
  EXPECT_EQ(read.rows.at(0).set_values, std::vector<std::optional<double>>{7.0});
}

TEST(History, MayHaveNoRows) {
  const TemporaryFolder folder;
  History().write(folder / "history.csv");
  EXPECT_TRUE(History::read(folder / "history.csv").rows.empty());
}

TEST(History, RefusesWhatItCannotUnderstand) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "history.csv";
  const auto refused = [&](const std::string& content) {
    put(path, content);
    const std::string sentence = file_error([&] { History::read(path); });
    expect_contains(sentence, path.string());
    return sentence;
  };
  const std::string good = std::string(header) + ",id_mse\n1,2,3,4,5,6,7\n";
  expect_contains(refused(""), "empty");
  expect_contains(refused("\n"), "line 1: the header is");
  expect_contains(refused("epoch,loss\n1,2\n"), "line 1: the header is \"epoch,loss\"");
  expect_contains(refused(std::string(header) + "x\n"), "line 1: the header");
  expect_contains(refused(std::string(header) + ",id\n"), "column 7 is \"id\"");
  expect_contains(refused(std::string(header) + ",_mse\n"), "column 7 is \"_mse\"");
  expect_contains(refused(std::string(header) + ",a_accuracy,b_mse\n"), "column 8 is \"b_mse\", and SET_accuracy is");
  expect_contains(refused(good + "2,2,3,4,5,6\n"), "line 3: there are 6 fields, and the header has 7");
  expect_contains(refused(good + "2,2,3,4,5,6,7,8\n"), "line 3: there are 8 fields");
  expect_contains(refused(good + "\n" + "2,2,3,4,5,6,7\n"), "line 3: there is 1 field");
  expect_contains(refused(good + "2.5,2,3,4,5,6,7\n"), "line 3: epoch is \"2.5\"");
  expect_contains(refused(good + "3000000000,2,3,4,5,6,7\n"), "epoch is \"3000000000\"");
  expect_contains(refused(good + "2,-1,3,4,5,6,7\n"), "step is \"-1\"");
  expect_contains(refused(good + "2,2,,4,5,6,7\n"), "loss is \"\"");
  expect_contains(refused(good + "2,2,3x,4,5,6,7\n"), "loss is \"3x\"");
  expect_contains(refused(good + "2,2,1e999,4,5,6,7\n"), "loss is \"1e999\"");
  expect_contains(refused(good + "2,2,3,4,5,6, 7\n"), "id_mse is \" 7\"");
  expect_contains(refused(good + std::string("2,2,3\0,4,5,6,7\n", 15)), "loss is \"3?\"");
  expect_contains(refused(std::string(header) + ",\x7f\xff_mse\n1,2,3,4,5,6,x\n"), "??_mse is \"x\"");
}

TEST(History, RefusesToWriteWhatItCouldNotRead) {
  const TemporaryFolder folder;
  History history = example();
  history.sets[1] = "a,b";
  expect_contains(file_error([&] { history.write(folder / "history.csv"); }), "\"a,b\" cannot name a column");
  history = example();
  history.rows[1].set_values.pop_back();
  expect_contains(file_error([&] { history.write(folder / "history.csv"); }), "epoch 1 has 2 sets");
  EXPECT_EQ(folder.size(), 0);
}

}  // namespace
}  // namespace ridgeline
