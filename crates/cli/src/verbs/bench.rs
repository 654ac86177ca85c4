use std::process::ExitCode;

use crate::exit::Failure;
use crate::options::{Benching, Format};

pub(super) fn run(_: &Benching) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}
