/* files/dir_markdown.c: Markdown as HTML without anything active. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "files/dir_markdown.h"
#include "support/fault_heap.h"

struct fixture {
    struct fault_heap heap;
    struct uvh_bytes page;
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    fault_heap_init(&fixture->heap);
    uvh_bytes_init(&fixture->page, &fixture->heap.allocator, 8 * 1024 * 1024);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    uvh_bytes_release(&fixture->page);
    assert_int_equal(fixture->heap.live, 0);
    free(fixture);
    return 0;
}

#if UVHTTP_TESTS_MARKDOWN

static void assert_html(struct fixture *fixture, const char *text, const char *html)
{
    fixture->page.length = 0;
    assert_true(uvh_dir_markdown_append(&fixture->page, text, strlen(text)));
    uvh_bytes_append(&fixture->page, "", 1);
    assert_string_equal(fixture->page.data, html);
}

/* md4c 0.4.8 does not end the link, and ends the emphasis twice. */
static void text_with_unbalanced_elements_is_refused(void **state)
{
    static const char *const texts[] = {
        "| a | b |\n|:-:|--:|\n| https://a.example/?q=\"x\"|a |\n",
        "***a*[a](b**c*d)e*f*\n",
    };
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_false(uvh_dir_markdown_append(&fixture->page, texts[i], strlen(texts[i])));
        assert_int_equal(fixture->page.length, 0);
    }
}

static void elements_are_written(void **state)
{
    static const struct {
        const char *text;
        const char *html;
    } rows[] = {
        {"# A\n\nb *c* **d** `e<` ~~f~~\n",
         "<h3>A</h3>\n<p>b <em>c</em> <strong>d</strong> <code>e&lt;</code> <del>f</del></p>\n"},
        {"###### six", "<h6>six</h6>\n"},
        {"- a\n- [x] b\n\n3. c\n", "<ul>\n<li>a</li>\n<li>\xE2\x98\x91 b</li>\n</ul>\n"
                                   "<ol start=\"3\">\n<li>c</li>\n</ol>\n"},
        {"> a  \nb\nc\n\n---\n", "<blockquote>\n<p>a<br>\nb\nc</p>\n</blockquote>\n<hr>\n"},
        {"```c\n<b>\n```\n", "<pre><code>&lt;b&gt;\n</code></pre>\n"},
        {"a | b\n:--:|--:\n1 | 2\n",
         "<table>\n<thead>\n<tr><th class=\"center\">a</th><th class=\"right\">b</th></tr>\n"
         "</thead>\n<tbody>\n<tr><td class=\"center\">1</td><td class=\"right\">2</td></tr>\n"
         "</tbody>\n</table>\n"},
        {"&amp; &lt; &#65; &#x1F419; &nosuch; &#0;\n",
         "<p>&amp; &lt; A \xF0\x9F\x90\x99 &amp;nosuch; \xEF\xBF\xBD</p>\n"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_html(*state, rows[i].text, rows[i].html);
}

static void links_have_allowed_schemes(void **state)
{
    static const struct {
        const char *text;
        const char *html;
    } rows[] = {
        {"[a](b.md)", "<p><a href=\"b.md\">a</a></p>\n"},
        {"[a](../b?c=d&e#f)", "<p><a href=\"../b?c=d&amp;e#f\">a</a></p>\n"},
        {"[a](#b:c)", "<p><a href=\"#b:c\">a</a></p>\n"},
        {"[a](HTTPS://x.test/\"')", "<p><a href=\"HTTPS://x.test/&quot;&#39;\">a</a></p>\n"},
        {"<https://x.test/>", "<p><a href=\"https://x.test/\">https://x.test/</a></p>\n"},
        {"a@x.test", "<p><a href=\"mailto:a@x.test\">a@x.test</a></p>\n"},
        {"[x a@x.test](javascript:b) [y a@x.test](c)",
         "<p>x a@x.test <a href=\"c\">y a@x.test</a></p>\n"},
        {"[a](javascript:b)", "<p>a</p>\n"},
        {"[a](JavaScript:b)", "<p>a</p>\n"},
        {"[a](javascript&colon;b)", "<p><a href=\"javascript&amp;colon;b\">a</a></p>\n"},
        {"[a](javascript&#58;b)", "<p>a</p>\n"},
        {"[a](java&#x0A;script:b)", "<p>a</p>\n"},
        {"[a](&#1;javascript:b)", "<p>a</p>\n"},
        {"[a](<&#32;javascript:b>)", "<p>a</p>\n"},
        {"[a](:javascript:b)", "<p>a</p>\n"},
        {"[a](data:text/html,b)", "<p>a</p>\n"},
        {"[a](vbscript:b)", "<p>a</p>\n"},
        {"<javascript:b>", "<p>javascript:b</p>\n"},
        {"[*a*](file:///b) [c](d)", "<p><em>a</em> <a href=\"d\">c</a></p>\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_html(*state, rows[i].text, rows[i].html);
}

static void images_are_of_the_same_site(void **state)
{
    static const struct {
        const char *text;
        const char *html;
    } rows[] = {
        {"![a *b* \"](c.png)", "<p><img loading=\"lazy\" src=\"c.png\" alt=\"a b &quot;\"></p>\n"},
        {"![a ![b](c) d](e)", "<p><img loading=\"lazy\" src=\"e\" alt=\"a b d\"></p>\n"},
        {"![a [b](javascript:c)](d)", "<p><img loading=\"lazy\" src=\"d\" alt=\"a b\"></p>\n"},
        {"[![a](https://x.test/b)](https://x.test/c)",
         "<p><a href=\"https://x.test/c\">a</a></p>\n"},
        {"![a](//x.test/b)", "<p>a</p>\n"},
        {"![a](<\\\\x.test/b>)", "<p>a</p>\n"},
        {"![a](data:image/svg+xml,b)", "<p>a</p>\n"},
        {"![a]()", "<p>a</p>\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_html(*state, rows[i].text, rows[i].html);
}

static void raw_html_is_left_out(void **state)
{
    assert_html(*state, "<script>alert(1)</script>\n\na <b onclick=\"x\">b</b> <!-- c -->\n",
                "<p>a b </p>\n");
    assert_html(*state, "<img src=x onerror=alert(1)>\n", "");
    assert_html(*state, "a < b & c > d\x01\x7f",
                "<p>a &lt; b &amp; c &gt; d\xE2\x90\x81\xE2\x90\xA1</p>\n");
}

static void assert_refused(struct fixture *fixture, const char *part, size_t count,
                           const char *begin)
{
    size_t length = strlen(part);
    char *text = malloc(strlen(begin) + length * count + 1);
    assert_non_null(text);
    memcpy(text, begin, strlen(begin));
    char *end = text + strlen(begin);
    for (size_t i = 0; i < count; i++, end += length)
        memcpy(end, part, length);
    fixture->page.length = 0;
    uvh_bytes_append_text(&fixture->page, "before");
    assert_false(uvh_dir_markdown_append(&fixture->page, text, (size_t)(end - text)));
    assert_int_equal(fixture->page.length, 6);
    free(text);
}

static void depth_and_output_are_limited(void **state)
{
    assert_refused(*state, ">", 200, "");
    assert_refused(*state, "&", 300000, "");
}

static void failed_allocation_is_reported(void **state)
{
    struct fixture *fixture = *state;
    fault_heap_arm(&fixture->heap, 1, true);
    assert_false(uvh_dir_markdown_append(&fixture->page, "# text", 6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_with_unbalanced_elements_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(elements_are_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_have_allowed_schemes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(images_are_of_the_same_site, set_up, tear_down),
        cmocka_unit_test_setup_teardown(raw_html_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(depth_and_output_are_limited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_allocation_is_reported, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void markdown_is_unavailable(void **state)
{
    assert_false(uvh_dir_markdown_append(&((struct fixture *)*state)->page, "text", 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(markdown_is_unavailable, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
