/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <endian.h>

#define bpf_htons(x) htobe16(x)
#define bpf_ntohs(x) be16toh(x)
#define bpf_htonl(x) htobe32(x)
