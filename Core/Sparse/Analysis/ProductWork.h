#pragma once

#include "Core/Sparse/CsrMatrix.h"

namespace tessera {

/// The work of a product A B, by which its time is predicted. The products of rows that are computed one by
/// one are exact if no group uses tiles; all other counts are estimates from some groups of 8 rows.
struct ProductWork {
  double rows = 0;         // of C
  double products = 0;     // pairs of entries that meet, all of them
  double rowProducts = 0;  // of them in rows that are computed one by one
  double tilePairs = 0;    // pairs of tiles that meet, in groups of rows that use tiles
  double entries = 0;      // of C
  double factorBytes = 0;  // of A and B
  double productBytes = 0; // of C
};

/// The number of pairs of entries that meet. Takes a pass over the columns of A.
double productCount(const Context&, const MatrixPattern& a, const MatrixPattern& b);

/// Counts the products, and looks at so many groups of 8 rows at equal distances that they have about
/// `sampledProducts` products, which takes a few milliseconds. The numbers of the matrices have `valueBytes`
/// bytes each.
ProductWork productWork(const Context&, const MatrixPattern& a, const MatrixPattern& b,
                        std::size_t valueBytes, double sampledProducts = 1 << 18);

}
