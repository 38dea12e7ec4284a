//! `weir-atlas charts`: which there are.

use std::io::Write;

use clap::Args;

use super::failure::Failure;
use crate::chart;
use crate::page::about::parameters;
use crate::text::Language;

/// List all charts and their parameters
#[derive(Args, Debug)]
pub(super) struct Arguments {}

pub(super) fn run(output: &mut impl Write) -> Result<(), Failure> {
    for chart in chart::ALL {
        writeln!(
            output,
            "{:<12} {}",
            chart.name(),
            chart.about(Language::English)
        )?;
        writeln!(output, "{:<12} {}", "", parameters(*chart))?;
    }
    Ok(())
}
