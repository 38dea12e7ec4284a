//! The kernel's counters of devices: `/proc/net/dev` (`net/core/net-procfs.c`).

use std::collections::HashMap;

use answers::Traffic;

/// Path of the counters, for the network namespace of the reader.
pub const FILE: &str = "/proc/net/dev";

/// Returns the counters of each device, by name. Skips malformed lines.
pub fn parse(text: &str) -> HashMap<&str, Traffic> {
    text.lines()
        .filter_map(|line| {
            // A name may have a colon in it, and the first number may follow the colon at once.
            let (name, numbers) = line.rsplit_once(':')?;
            let mut numbers = numbers
                .split_ascii_whitespace()
                .map_while(|number| number.parse().ok());
            // Eight counters of incoming traffic, then as many of outgoing traffic; each group
            // begins with bytes and packets.
            let (bytes_in, packets_in) = (numbers.next()?, numbers.next()?);
            let (bytes_out, packets_out) = (numbers.nth(6)?, numbers.next()?);
            let traffic = Traffic {
                packets_in,
                bytes_in,
                packets_out,
                bytes_out,
            };
            Some((name.trim(), traffic))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_kernel_writes() {
        let text = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo \
 colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    \
    0     0       0          0
 wan:0:18446744073709551615 7 1 1 1 1 1 1 42 3 1 1 1 1 1 1
broken: 1 2 3
nothing
";
        let found = parse(text);
        assert_eq!(found.len(), 2);
        assert_eq!(found["lo"], Traffic::default());
        let wan = Traffic {
            bytes_in: u64::MAX,
            packets_in: 7,
            bytes_out: 42,
            packets_out: 3,
        };
        assert_eq!(found["wan:0"], wan);
    }
}
