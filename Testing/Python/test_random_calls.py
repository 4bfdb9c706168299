"""2,000 random calls end with a result or an error of ours, and with no signal."""

import unittest

import random_calls
from support import main


class RandomCalls(unittest.TestCase):
    def test_each_ends_with_a_result_or_an_error_of_ours(self):
        results, errors = random_calls.main(2000, 1)
        self.assertGreater(results, 200)
        self.assertGreater(sum(errors.values()), 200)


if __name__ == "__main__":
    main()
