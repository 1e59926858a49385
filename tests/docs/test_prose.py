"""What prose.py counts, and that its counts only go down."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import prose  # noqa: E402


class Pages(unittest.TestCase):
    def kinds(self, text):
        return [(kind, line) for kind, line, _ in prose.places_of_page(text)]

    def test_long_sentences(self):
        text = "Short one.\n" + "Word " * 36 + "\nends.\n\n- " + "word " * 35 + "\n"
        self.assertEqual(self.kinds(text), [("sentence", 2), ("line", 2), ("line", 5)])

    def test_sentences_end_at_points_but_not_at_abbreviations(self):
        self.assertEqual([text for _, text in prose.sentences('One, e.g. This. Two `x`. "/ 3" is. *Three.* 4 more')],
                         ["One, e.g. This.", "Two `x`.", '"/ 3" is.', "*Three.*", "4 more"])

    def test_list_items_and_headings_are_apart(self):
        self.assertEqual([line for line, _ in prose.paragraphs("a\nb\n- c\n  d\n# e\n| f |\n1. g\n")], [1, 3, 7])

    def test_code_and_addresses_do_not_count(self):
        self.assertEqual(self.kinds("```\n" + "word " * 50 + "\n```\n" + "`" + "word " * 30 + "`\n"), [("line", 4)])
        self.assertEqual(self.kinds("[a](" + "b" * 150 + ")\n"), [])
        self.assertEqual(self.kinds("<!-- " + "word " * 50 + "-->\n"), [])

    def test_a_sentence_may_begin_with_code(self):
        self.assertEqual(self.kinds("word\n" * 20 + "word. `code` " + "word\n" * 20 + "word.\n"), [])
        self.assertEqual(self.kinds("word\n" * 20 + "`code`. Kokkos " + "word\n" * 20 + "word.\n"), [])

    def test_cells(self):
        self.assertEqual(self.kinds("| a | b |\n|---|---|\n| `x | y` | " + "word " * 21 + "|\n"), [("cell", 3)])
        self.assertEqual(self.kinds("| " + "word " * 20 + "| " + "word " * 20 + "|\n"), [])

    def test_openings(self):
        openings = ("Of these, two fail.", "Fine. Where so, x.", "In it lies x.", "What we do is x.", "*Of* it x.")
        for text in openings:
            self.assertEqual(self.kinds(text), [("opening", 1)], text)
        for text in ("What is it?", "Often.", "Whatever is.", "It is what it is.", "In its place."):
            self.assertEqual(self.kinds(text), [], text)

    def test_lines_of_sources(self):
        self.assertEqual([line for _, line, _ in prose.places_of_source("a\n" + "b" * 121 + "\n" + "c" * 120)], [2])


class Ratchet(unittest.TestCase):
    found = {("a.md", "line"): [(3, "130 columns"), (5, "140 columns")]}

    def test_as_allowed(self):
        self.assertEqual(prose.compare(self.found, prose.exceptions("# a comment\na.md line 2\n")), [])

    def test_more_fails_and_shows_where(self):
        wrong = prose.compare(self.found, {("a.md", "line"): 1})
        self.assertIn("1 are allowed", wrong[0])
        self.assertIn("a.md:5: 140 columns", "\n".join(wrong))

    def test_fewer_fails_and_says_the_count(self):
        for allowed, found, count in ((3, self.found, 2), (1, {}, 0)):
            (wrong,) = prose.compare(found, {("a.md", "line"): allowed})
            self.assertIn(f"lower the count of `line` to {count}", wrong)


if __name__ == "__main__":
    unittest.main()
