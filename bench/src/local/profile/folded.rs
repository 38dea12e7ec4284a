//! Folds the output of `perf script -F comm,ip,sym` into stacks with their numbers of samples.

use std::collections::BTreeMap;

/// Returns the stacks of samples taken while packets were on their way, sorted. These are samples
/// within the call that feeds packets, from that call inwards, and those of the kernel thread that
/// processes received packets.
pub(super) fn of(text: &str) -> Vec<(String, u64)> {
    let mut found = BTreeMap::new();
    for sample in text.split("\n\n") {
        if let Some(stack) = stack(sample) {
            *found.entry(stack).or_insert(0) += 1;
        }
    }
    found.into_iter().collect()
}

/// Kernel function that feeds packets.
const FEEDS: &str = "bpf_prog_test_run_xdp";
/// Deepest plausible stack: deeper ones are damaged.
const DEEPEST: usize = 127;

/// Parses a sample: a line with the program's name, then address and name of each function, the
/// innermost first.
fn stack(sample: &str) -> Option<String> {
    let mut lines = sample.lines().filter(|line| !line.trim().is_empty());
    let program = lines.next()?.trim();
    let functions = lines.filter_map(|line| line.trim().split_once(' '));
    let mut functions: Vec<_> = functions
        .map(|(_, name)| tidy(name))
        .take(DEEPEST)
        .collect();
    functions.reverse();
    let fed = functions.iter().position(|name| name == FEEDS);
    match fed {
        Some(outer) => drop(functions.drain(..outer)),
        None if program.starts_with("ksoftirqd") => {}
        None => return None,
    }
    (!functions.is_empty()).then(|| functions.join(";"))
}

/// Shortens the name of a BPF program: `bpf_prog_`, a tag of 16 digits, and its own name. Replaces
/// semicolons, which would end a name.
fn tidy(name: &str) -> String {
    let name = name.trim().replace(';', ":");
    let Some((digits, own)) = name
        .strip_prefix("bpf_prog_")
        .and_then(|rest| rest.split_once('_'))
    else {
        return name;
    };
    let is_tag = digits.len() == 16 && digits.chars().all(|digit| digit.is_ascii_hexdigit());
    match is_tag {
        true => format!("bpf: {own}"),
        false => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: &str = "\
weir
\tffffffff81 veth_poll
\tffffffff82 __napi_poll
\tffffffff83 bpf_prog_test_run_xdp
\tffffffff84 __sys_bpf

weir
\tffffffffc0 bpf_prog_0123456789abcdef_weir_xdp
\tffffffff82 __napi_poll
\tffffffff83 bpf_prog_test_run_xdp
\tffffffff84 __sys_bpf

weir
\tffffffffc0 bpf_prog_0123456789abcdef_weir_xdp
\tffffffff82 __napi_poll
\tffffffff83 bpf_prog_test_run_xdp

swapper
\tffffffff90 default_idle

ksoftirqd/1
\tffffffff82 __napi_poll
\tffffffff91 run_ksoftirqd
";

    #[test]
    fn stacks_are_counted() {
        let found = of(SAMPLES);
        let found: Vec<_> = found
            .iter()
            .map(|(stack, count)| (stack.as_str(), *count))
            .collect();
        assert_eq!(
            found,
            [
                ("bpf_prog_test_run_xdp;__napi_poll;bpf: weir_xdp", 2),
                ("bpf_prog_test_run_xdp;__napi_poll;veth_poll", 1),
                ("run_ksoftirqd;__napi_poll", 1),
            ]
        );
    }

    #[test]
    fn damage_is_no_sample() {
        for text in [
            "",
            "\n\n\n",
            "weir",
            "weir\n\t",
            "weir\nbpf_prog_test_run_xdp",
            "swapper\n\tff x;y",
        ] {
            assert_eq!(of(text), [], "{text:?}");
        }
        assert_eq!(tidy("bpf_prog_x_y"), "bpf_prog_x_y");
        assert_eq!(tidy("bpf_prog_"), "bpf_prog_");
        assert_eq!(tidy("a;b"), "a:b");
    }
}
