//! The command line of every server of the benchmark, as far as it concerns the limits.

/// What was asked for.
#[derive(Default)]
pub struct Options {
    /// No session is opened.
    pub stateless: bool,
    /// How many more tools are listed.
    pub tools: usize,
}

impl Options {
    /// Reads what comes after the words that name the mode; nothing if it makes no sense. `--tuned` changes
    /// nothing: a limit is as fast as it can be.
    pub fn read(args: &[String]) -> Option<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--tuned" => {}
                "--stateless" => options.stateless = true,
                "--tools" => options.tools = args.next()?.parse().ok()?,
                _ => return None,
            }
        }
        Some(options)
    }
}
