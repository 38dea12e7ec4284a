use super::super::Metric;

const MBIT: u64 = 1_000_000;

fn looks(metric: &mut Metric, expected: impl IntoIterator<Item = u64>) -> usize {
    let mut turns = 0;
    for now in expected {
        let before = metric.told();
        metric.look(Some(now));
        turns += usize::from(metric.told() != before);
    }
    turns
}

#[test]
fn nothing_is_told_before_anything_is_known() {
    let mut metric = Metric::default();
    metric.look(None);
    assert_eq!(metric.told(), None);
    metric.look(Some(20 * MBIT));
    assert_eq!(metric.told(), Some(20 * MBIT));
    metric.look(None);
    assert_eq!(metric.told(), Some(20 * MBIT));
}

#[test]
fn what_nobody_knows_for_long_is_taken_back() {
    let mut metric = Metric::default();
    let mut unknown = |looks: usize, now: u64| {
        metric.look(Some(now));
        (0..looks).for_each(|_| metric.look(None));
        metric.told()
    };
    assert_eq!(unknown(9, 20 * MBIT), Some(20 * MBIT));
    assert_eq!(unknown(10, 20 * MBIT), None);
    // Earlier readings have no influence any more.
    assert_eq!(unknown(0, 6 * MBIT), Some(6 * MBIT));
}

#[test]
fn rate_control_that_goes_to_and_fro_is_not_told_of() {
    let mut metric = Metric::default();
    let to_and_fro = [24 * MBIT, 30 * MBIT].repeat(300);
    // Until the mean is one.
    assert!(looks(&mut metric, to_and_fro.iter().copied().take(20)) <= 2);
    assert_eq!(looks(&mut metric, to_and_fro), 0);
    // A second without throughput, as during a scan.
    looks(&mut metric, [27 * MBIT; 20]);
    let before = metric.told();
    assert!(looks(&mut metric, [20 * MBIT]) == 0 && metric.told() == before);
}

#[test]
fn what_lasts_is_told_within_seconds() {
    let mut metric = Metric::default();
    looks(&mut metric, [24 * MBIT]);
    looks(&mut metric, [6 * MBIT; 8]);
    let told = metric.told().expect("known");
    assert!(told < 9 * MBIT, "{told}");
    let near = |metric: &Metric, bits: u64| {
        let told = metric.told().expect("known");
        assert!(told.abs_diff(bits) <= told / 8 + 8, "{told}");
    };
    looks(&mut metric, [6 * MBIT; 60]);
    near(&metric, 6 * MBIT);
    // And back, in few steps.
    assert!(looks(&mut metric, [24 * MBIT; 60]) <= 12);
    near(&metric, 24 * MBIT);
}

#[test]
fn numbers_of_any_size() {
    let mut metric = Metric::default();
    looks(&mut metric, [u64::MAX, 0, u64::MAX, 1, 0]);
    assert!(metric.told().is_some());
}
