//! Colours, for those who can see them.

use std::io::IsTerminal;

/// Whether and how text is set off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    colours: bool,
}

impl Style {
    /// For standard output: colours on a terminal, unless `NO_COLOR` is set.
    pub(crate) fn of_stdout() -> Self {
        Self { colours: std::io::stdout().is_terminal() && are_welcome() }
    }

    /// The same for standard error.
    pub(crate) fn of_stderr() -> Self {
        Self { colours: std::io::stderr().is_terminal() && are_welcome() }
    }

    /// For what no terminal shows.
    pub(crate) const fn plain() -> Self {
        Self { colours: false }
    }

    /// What matters.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What can be skipped.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// With colours, whatever the terminal.
    #[cfg(test)]
    pub(crate) fn coloured() -> Self {
        Self { colours: true }
    }

    /// Whether there are colours at all.
    pub(crate) fn has_colours(self) -> bool {
        self.colours
    }

    /// What is stressed.
    pub(crate) fn italic(self, text: &str) -> String {
        self.paint("3", text)
    }

    /// What leads elsewhere.
    pub(crate) fn underlined(self, text: &str) -> String {
        self.paint("4", text)
    }

    /// What is code.
    pub(crate) fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }

    /// What came out.
    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// What is gone, or went wrong.
    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

fn are_welcome() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !refused && !dumb
}
