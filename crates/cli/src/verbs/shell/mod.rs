use std::process::ExitCode;

use crate::exit::Failure;
use crate::options::{Format, Talking};

pub(super) fn run(_: &Talking) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}
