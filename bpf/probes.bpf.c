// SPDX-License-Identifier: GPL-2.0-only
/*
 * The probes, one header each: see docs/reference/probes.md. Which of them are loaded, the configuration
 * says.
 */
#include "include/probe_drops.h"
#include "include/probe_qdisc.h"
#include "include/probe_tcp.h"

char _license[] SEC("license") = "GPL";
