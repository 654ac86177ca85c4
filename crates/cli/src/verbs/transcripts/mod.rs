use std::process::ExitCode;

use crate::exit::Failure;
use crate::options::{Comparing, Format, Mocking, Recording, Replaying, Testing};

pub(super) fn record(_: &Recording) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn replay(_: &Replaying) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn mock(_: &Mocking) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn test(_: &Testing) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn diff(_: &Comparing) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}
