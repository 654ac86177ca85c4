use std::process::ExitCode;

use crate::exit::Failure;
use crate::options::{Adding, Exporting, Format, Importing, Naming, Overview};

pub(super) fn add(_: &Adding) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn get(_: &Naming) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn list(_: &Overview) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn remove(_: &Naming) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn enable(_: &Naming) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn disable(_: &Naming) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn import(_: &Importing) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}

pub(super) fn export(_: &Exporting) -> ExitCode {
    Failure::usage("not built yet").report(Format::Text)
}
