//! The command line of every server and client of the benchmark, as far as it concerns the limits.

use crate::Calls;

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

/// The calls that a client is to make.
pub struct Load {
    /// In which revision.
    pub calls: Calls,
    /// A program to start with the argument `stdio`, or an endpoint.
    pub target: String,
    /// How many are timed.
    pub count: usize,
    /// How many of them are in flight.
    pub window: usize,
}

impl Load {
    /// Reads what comes after `client`; nothing if it makes no sense or is of another transport. `--tuned` changes
    /// nothing here either.
    pub fn read(transport: &str, args: &[String]) -> Option<Self> {
        let args = args.strip_suffix(&["--tuned".to_owned()]).unwrap_or(args);
        let [era, over, target, count, window] = args else { return None };
        let load = Self {
            calls: Calls::of(era)?,
            target: target.clone(),
            count: count.parse().ok()?,
            window: window.parse().ok()?,
        };
        (over == transport && load.count > 0 && load.window > 0).then_some(load)
    }
}
