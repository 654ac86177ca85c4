//! What can be said to the verbs that change configurations: `add`, `get`, `list`, `remove`, `enable`, `disable`, `import`, `export`.

use std::ffi::OsString;

use clap::Args;

use super::Format;
use super::serving::{Hosts, hosts};

/// A server to remember.
#[derive(Debug, Args)]
pub(crate) struct Adding {
    /// What it is to be called.
    pub(crate) name: String,
    /// Its URL; unless its command comes after `--`.
    pub(crate) url: Option<String>,
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
    /// The server's command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// A server that is configured.
#[derive(Debug, Args)]
pub(crate) struct Naming {
    /// Its name, or `host:name`.
    pub(crate) name: String,
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// All servers that are configured.
#[derive(Debug, Args)]
pub(crate) struct Overview {
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Whose servers to take over.
#[derive(Debug, Args)]
pub(crate) struct Importing {
    /// Which hosts; all that are found, if none is named.
    #[arg(value_name = "HOST", value_parser = hosts)]
    pub(crate) hosts: Vec<Hosts>,
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}

/// Whom to give servers to.
#[derive(Debug, Args)]
pub(crate) struct Exporting {
    /// Which servers; all of ours, if none is named.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Whose configuration to write.
    #[arg(long, value_name = "HOST", value_parser = hosts)]
    pub(crate) to: Hosts,
    /// How to print results, and errors.
    #[arg(long, short = 'o', value_enum, default_value_t, value_name = "FORMAT")]
    pub(crate) format: Format,
}
