# SPDX-License-Identifier: Apache-2.0
"""Thesis 4.4: the ocean, with spin locks, with semaphore locks, and with today's default."""
import blocks

from . import thesis


def section(results):
    caption = ("Time of the ocean simulation over the number of VPs, for 1 to 16 threads. "
               "The thesis's program was SPLASH-2's; ours is another of the same shape, so "
               "compare the shapes of curves, not seconds. ")
    spin = thesis.figure(
        results, "thesis-figure-13", "Figure 13: the ocean with spin locks", caption +
        "Tables 27 to 31, and the run of 448 s with 4 VPs on 2 CPUs that the text tells of.",
        "ocean", {"lock": "spin", "crowded": False}, lock="spin")
    semaphore = thesis.figure(
        results, "thesis-figure-14", "Figure 14: the ocean with semaphore locks", caption +
        "Tables 32 to 39; Table 37 is lost in the text we have.", "ocean",
        {"lock": "semaphore", "crowded": False}, lock="semaphore")
    return blocks.Section(
        "thesis-ocean", "Ocean simulation", "thesis 4.4, Tables 27 to 39, Figures 13 and 14",
        "Some five hundred barriers a time step: the program in which a preempted lock holder "
        "made the thesis's spin locks collapse.", [spin, semaphore])
