use std::process::ExitCode;

use crate::exit::Failure;
use crate::options::{Doctoring, Format};

pub(super) fn run(_: &Doctoring) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}
