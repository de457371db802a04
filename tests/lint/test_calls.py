# SPDX-License-Identifier: Apache-2.0
"""Tests of tools/mpi/calls.py, which writes functions of MPI from a table."""
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "mpi"))
import calls  # noqa: E402
import forms  # noqa: E402

FUNCTIONS = """
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int dest);
int MPI_Send_c(const void *buffer, MPI_Count count, MPI_Datatype type, int dest);
int MPI_Type_size(MPI_Datatype type, int *size);
int MPI_Type_size_c(MPI_Datatype type, MPI_Count *size);
int MPI_Pack(const void *input, int *position);
int MPI_Pack_c(const void *input, MPI_Count *position);
int MPI_Gatherv(const int counts[], MPI_Comm comm);
int MPI_Gatherv_c(const MPI_Count counts[], MPI_Comm comm);
int MPI_Pcontrol(int level);
"""


class Calls(unittest.TestCase):
    def written(self, table, functions=FUNCTIONS):
        """Returns the source for a table, without its blank lines."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "calls.table"
            path.write_text(table)
            text = calls.write(forms.find_prototypes(functions), calls.Table(path))
        return [line for line in text.splitlines() if line]

    def refused(self, table):
        """Returns the message with which a table is refused."""
        with self.assertRaises(SystemExit) as end:
            self.written(table)
        return str(end.exception)

    def test_each_form_has_a_definition_with_its_name(self):
        lines = self.written("include a.h\nMPI_Send tm_send($call, buffer, count, type, dest)\n")
        self.assertIn('#include "a.h"', lines)
        self.assertIn("#pragma weak MPI_Send_c = PMPI_Send_c", lines)
        self.assertIn('  return tm_send("MPI_Send", buffer, count, type, dest);', lines)
        self.assertIn('  return tm_send("MPI_Send_c", buffer, count, type, dest);', lines)

    def test_words_are_replaced_also_inside_of_words(self):
        lines = self.written("let end dest)\nlet message $1, count, $end\nMPI_Send f($message(buffer)\n")
        self.assertIn("  return f(buffer, count, dest);", lines)

    def test_a_word_is_known_from_its_line_on_only(self):
        self.assertIn("not known", self.refused("MPI_Pcontrol f($later)\nlet later level\n"))

    def test_arguments_that_the_call_leaves_out_are_marked_unused(self):
        self.assertIn("  (void)level;", self.written("MPI_Pcontrol f($call)\n"))

    def test_an_int_result_does_not_overflow(self):
        lines = self.written("MPI_Type_size f(type, size)\n")
        self.assertIn("  MPI_Count large_size = 0;", lines)
        self.assertIn("  int error = f(type, &large_size);", lines)
        self.assertIn("  *size = tm_count_as_int(large_size);", lines)
        self.assertIn("  return f(type, size);", lines)  # of MPI_Type_size_c

    def test_a_position_is_read(self):
        self.assertIn("  MPI_Count large_position = *position;", self.written("MPI_Pack f(input, position)\n"))

    def test_a_missing_place_for_a_result_is_refused(self):
        lines = self.written("MPI_Type_size f(type, size)\n")
        self.assertIn('  if (size == NULL) return tm_no_place("MPI_Type_size", "size");', lines)
        self.assertIn('  if (size == NULL) return tm_no_place("MPI_Type_size_c", "size");', lines)
        self.assertNotIn("no_place", "".join(self.written("MPI_Gatherv f($counts(counts), comm)\n")))

    def test_counts_say_how_wide_they_are(self):
        lines = self.written("MPI_Gatherv f($counts(counts), comm, $large)\n")
        self.assertIn("  return f((struct tm_counts){counts, NULL}, comm, false);", lines)
        self.assertIn("  return f((struct tm_counts){NULL, counts}, comm, true);", lines)

    def test_a_row_without_a_prototype_is_refused(self):
        self.assertIn("MPI_Sand: mpi_functions.h has no prototype", self.refused("MPI_Sand f()\n"))

    def test_a_line_of_no_form_is_refused(self):
        self.assertIn(":2: 'Send' begins no row", self.refused("# a comment\nSend f()\n"))


if __name__ == "__main__":
    unittest.main()
