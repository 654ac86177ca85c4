use std::process::ExitCode;

use crate::exit::Failure;
use crate::options::{Completions, Format, Manual};

pub(super) fn completions(_: &Completions) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn man(_: &Manual) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}
