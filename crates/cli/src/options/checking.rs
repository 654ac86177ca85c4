//! What can be said to the verb `doctor`.

use clap::Args;

use super::{Target, Words};

/// What to look at.
#[derive(Debug, Args)]
pub(crate) struct Doctoring {
    /// The server; without one, everything that is configured.
    #[arg(value_name = "TARGET")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) target: Target,
}

impl Doctoring {
    pub(crate) fn words(&self) -> Words {
        Words::new([&self.server], &[])
    }
}
