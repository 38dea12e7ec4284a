//! The router's own uplink, without which some choices have no effect.

use super::problem::NO_UPLINK;
use super::zones::has_uplink;
use super::{Config, ProblemKind, Report};

/// Returns true if a firewall zone leads to an uplink, and notes a problem otherwise: one for each
/// list of choices.
pub(super) fn leads_outside(config: &Config, report: &mut Report, field: &str) -> bool {
    if has_uplink(config) {
        return true;
    }
    let list = field.split('[').next().unwrap_or(field);
    let said = report.problems().iter().any(|problem| {
        // An uplink that is chosen, and cannot be made, is one problem.
        problem.field.starts_with("internet.")
            || problem.field.starts_with(list) && problem.problem == NO_UPLINK
    });
    if !said {
        report.add_problem(field, &ProblemKind::NoUplink);
    }
    false
}
