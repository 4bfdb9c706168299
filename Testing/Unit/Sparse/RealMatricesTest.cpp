// needs: Sparse
#include "Core/Sparse/MatrixFile.h"
#include "Core/Sparse/SpGemm.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/Scenes/SparseCases.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

namespace tessera {
namespace {

/// Facts about A and A A as SciPy 1.10 computes them.
struct Figures {
  const char* name;
  std::uint64_t rows, entries, products, entriesOfSquare;
  double sum; // of all entries of A A
};

class RealMatricesTest : public ::testing::TestWithParam<Figures> {
protected:
  void SetUp() override
  {
    path = std::string(TESSERA_DATA_DIR) + "/matrices/" + GetParam().name + ".mtx.gz";
    if (!std::filesystem::exists(path))
      GTEST_SKIP() << path << " is missing: TESSERA_DATA_DIR names no folder with real matrices";
  }
  std::string path;
};
INSTANTIATE_TEST_SUITE_P(Files, RealMatricesTest,
                         ::testing::Values(Figures{"bcsstk29", 13992, 619488, 30850506, 1965686, 30850506},
                                           Figures{"bcsstk33", 8738, 591904, 42361950, 2569536, 42361950},
                                           Figures{"ca-CondMat", 23133, 186936, 4127524, 2355437, 4127524},
                                           Figures{"delaunay_n14", 16384, 98244, 618884, 339326, 618884},
                                           Figures{"fe_body", 45087, 327468, 2635052, 1187713, 2635052},
                                           Figures{"finan512", 74752, 596992, 7713792, 4597248, 7713792},
                                           Figures{"memplus", 17758, 108392, 9284198, 5121566, 9284198},
                                           Figures{"p2p-Gnutella31", 62586, 147892, 538318, 537601, 538318},
                                           Figures{"vibrobox", 12328, 342828, 12724852, 2471588, 12724852},
                                           Figures{"wiki-Vote", 8297, 103689, 4542805, 1831112, 4542805},
                                           Figures{"wing", 62032, 243088, 957396, 714200, 957396}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(RealMatricesTest, SquaresHaveTheFiguresOfSciPy)
{
  const Context context{{}, 2};
  const MatrixFile file = readMatrix(context, path);
  EXPECT_EQ(file.duplicates, 0u);
  const CsrMatrix<double> a = converted<double>(context, file.matrix);
  ASSERT_EQ(a.rows, GetParam().rows);
  ASSERT_EQ(a.entries(), GetParam().entries);
  SpGemmReport report;

  const CsrMatrix<double> c = multiply(context, a, a, {}, &report);

  EXPECT_EQ(report.products, GetParam().products);
  EXPECT_EQ(c.entries(), GetParam().entriesOfSquare);
  EXPECT_EQ(std::accumulate(c.value.begin(), c.value.end(), 0.0), GetParam().sum); // whole numbers below 2^53
}

}
}
