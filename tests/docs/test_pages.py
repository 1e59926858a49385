"""Where pages stand in the site and where their links lead; what the headers' reference looks like."""

import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "docs"))

import doxygen_filter  # noqa: E402
import pages  # noqa: E402
import reference  # noqa: E402


def checkout(files):
    """A temporary directory with these files."""
    directory = tempfile.TemporaryDirectory()
    for path, text in files.items():
        where = os.path.join(directory.name, path)
        os.makedirs(os.path.dirname(where), exist_ok=True)
        with open(where, "w", encoding="utf-8") as file:
            file.write(text)
    return directory


class Links(unittest.TestCase):
    def targets(self, text):
        return [link.target for link in pages.links(text)]

    def test_finds_links_pictures_definitions_and_html(self):
        text = 'See [a](b.md#c), [`d`](e.md "title") and ![f](g.png).\n\n[h]: i.md\n<img width="9" src="j.png">\n'
        self.assertEqual(self.targets(text), ["b.md#c", "e.md", "g.png", "i.md", "j.png"])

    def test_ignores_code_and_comments(self):
        text = "`[a](b)`\n\n```cpp\n[c](d)\n```\n<!-- [e](f) -->\n    \n``x ` [g](h)``\n~~~\n[i](j)\n~~~\n[k](l)"
        self.assertEqual(self.targets(text), ["l"])

    def test_text_may_have_brackets_and_several_lines(self):
        (link,) = pages.links("x [out[i] and\n`more`](there.md) y")
        self.assertEqual(link.text, "out[i] and\n`more`")
        self.assertEqual(link.begin, 2)

    def test_anchors(self):
        text = "# A `code` & more\n## Again\n## Again\n```\n# none\n```\n"
        text += '<a id="own"></a>\n(mine)=\n### [Link](x.md), 2^31\n### *em*, snake_case\n'
        expected = {"a-code--more", "again", "again-1", "own", "mine", "link-231", "em-snake_case"}
        self.assertEqual(pages.anchors(text), expected)


class Places(unittest.TestCase):
    def test_places(self):
        places = {
            "README.md": "readme.md",
            "CHANGELOG.md": "changelog.md",
            "docs/index.md": "index.md",
            "docs/developer/index.md": "developer/index.md",
            "docs/decisions/0001-a.md": "decisions/0001-a.md",
            "apps/README.md": "apps/index.md",
            "apps/dot/README.md": "apps/dot/index.md",
        }
        for path, place in places.items():
            self.assertEqual(pages.place(path), place)

    def test_links_lead_to_pages_pictures_the_web_or_nowhere(self):
        files = {
            "docs/index.md": "[a](../apps/dot/README.md#b) [c](../apps) [d](../run) [e](missing.md)\n"
            "[f](https://x.y) ![g](g.png) [h](#i)",
            "apps/README.md": "",
            "apps/dot/README.md": "[up](../../docs/index.md) [code `x`](problem.hpp)",
            "apps/dot/problem.hpp": "",
            "docs/g.png": "",
            "run": "",
        }
        with checkout(files) as root:
            site = pages.Site(root)
            self.assertEqual(
                site.text("docs/index.md"),
                "[a](apps/dot/index.md#b) [c](apps/index.md) d [e](missing.md)\n"
                "[f](https://x.y) ![g](pictures/docs/g.png) [h](#i)",
            )
            self.assertEqual(site.text("apps/dot/README.md"), "[up](../../index.md) code `x`")
            self.assertEqual(
                pages.Site(root, "https://x.y/main").text("apps/dot/README.md"),
                "[up](../../index.md) [code `x`](https://x.y/main/apps/dot/problem.hpp)",
            )

    def test_write_keeps_what_is_the_same_and_removes_what_is_gone(self):
        with checkout({"docs/index.md": "a", "docs/b.md": "b"}) as root, tempfile.TemporaryDirectory() as where:
            pages.Site(root).write(where)
            os.utime(os.path.join(where, "index.md"), (1, 1))
            os.remove(os.path.join(root, "docs/b.md"))
            pages.Site(root).write(where)
            self.assertEqual(os.listdir(where), ["index.md"])
            self.assertEqual(os.stat(os.path.join(where, "index.md")).st_mtime, 1)

    def test_every_header_stands_on_one_page(self):
        self.assertEqual(sorted(pages.Site(ROOT).headers()), sorted(reference.headers(ROOT)))


class Filter(unittest.TestCase):
    def filtered(self, *lines):
        return doxygen_filter.filtered("\n".join(lines)).split("\n")

    def test_angle_brackets_are_escaped_outside_of_code(self):
        comment = self.filtered("/// calls f<T>() and `g<T>()`", "f<T>();")
        self.assertEqual(comment, [r"/// calls f\<T\>() and `g<T>()`", "f<T>();"])
        self.assertEqual(self.filtered("int a;  ///< a<b"), [r"int a;  ///< a\<b"])
        self.assertEqual(self.filtered('auto s = "/// <x>";'), ['auto s = "/// <x>";'])

    def test_use_is_code_and_ends_with_it(self):
        self.assertEqual(
            self.filtered("/// Use:  f<2>(a);", "/// or, often:  g(a);", "///", "/// Text"),
            ["/// \\verbatim Use:  f<2>(a);", "/// or, often:  g(a); \\endverbatim", "///", "/// Text"],
        )
        self.assertEqual(
            self.filtered("/// Use:  f<2>(a);", "/// in a file for T<2>."),
            ["/// \\verbatim Use:  f<2>(a); \\endverbatim", "/// in a file for T\\<2\\>."],
        )

    def test_indented_lines_are_code_but_not_in_a_list(self):
        self.assertEqual(
            self.filtered("/// a type with", "///   int<2> x;", "///   int y;", "/// more"),
            ["/// a type with", "/// \\verbatim :   int<2> x;", "///   int y; \\endverbatim", "/// more"],
        )
        self.assertEqual(self.filtered("/// - one", "///   two"), ["/// - one", "///   two"])

    def test_lines_stay_where_they_are(self):
        for name in reference.headers(ROOT):
            with open(os.path.join(ROOT, reference.HEADERS, name), encoding="utf-8") as file:
                text = file.read()
            self.assertEqual(doxygen_filter.filtered(text).count("\n"), text.count("\n"), name)


class Reference(unittest.TestCase):
    def test_tidy(self):
        self.assertEqual(reference.tidy("Readable< Exec, T, 1 >  const  &in"), "Readable<Exec, T, 1> const& in")
        self.assertEqual(reference.tidy("A< B< int > > x=0"), "A<B<int>> x = 0")
        self.assertEqual(reference.tidy("Either< sizeof(T)<=4, A, B >"), "Either<sizeof(T) <= 4, A, B>")

    def test_use(self):
        text = reference.code("Use:  f(a);  g(a);\n///\n/// or, often:  F f(n);\n///             f(a);\n")
        self.assertEqual(text, "```cpp\nf(a);\ng(a);\n// or, often:\nF f(n);\nf(a);\n```")

    def test_description(self):
        xml = (
            "<d><para>in[i] of <computeroutput>a_b</computeroutput>: a * b"
            "<itemizedlist><listitem><para>one</para></listitem></itemizedlist></para></d>"
        )
        self.assertEqual(reference.description(ElementTree.fromstring(xml)), "in\\[i\\] of `a_b`: a \\* b\n\n- one")

    def test_long_declarations_have_a_line_for_each_parameter(self):
        long = "void operator()(A<int, B> const& a, " + "C c" * 40 + ") const;"
        self.assertEqual(
            reference.wrapped(long), "void operator()(\n    A<int, B> const& a,\n    " + "C c" * 40 + ") const;"
        )


if __name__ == "__main__":
    unittest.main()
