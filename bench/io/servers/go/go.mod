// SPDX-License-Identifier: Apache-2.0

module mltp/bench/io

go 1.19
