# SPDX-License-Identifier: Apache-2.0
"""Thesis 4.2: pi by the rectangle rule."""
import blocks

from . import thesis


def section(results):
    figure = thesis.figure(
        results, "thesis-figure-8", "Figure 8: pi by the rectangle rule",
        "Time to work out pi, over the number of VPs, for several numbers of threads; Tables 5 to "
        "12. Tables 6, 7, 9 and 10 and one column of Table 5 are lost in the text we have, so the "
        "thesis's panels have gaps.", "pi", results.select(experiment="pi", clock="wall"))
    return blocks.Section(
        "thesis-pi", "Pi", "thesis 4.2, Tables 5 to 12, Figure 8",
        "Much computing, one lock for each thread at its end: a program that two-level threads "
        "cannot help much, and should not slow down.", [figure])
