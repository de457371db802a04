/* SPDX-License-Identifier: Apache-2.0 */
#include <i_typed.sh>
