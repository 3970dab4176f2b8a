"""Text from elsewhere as HTML that is safe to put into a page: prose, code, output of programs, diffs, images.

Whatever the text holds, the HTML has no script, no style attribute, nothing that is fetched, and hides nothing:
characters that cannot be seen are written out. What is long is folded, and the fold says how much is in it.
"""
