//! Names with `*` in them, and lists of these that include and exclude.

/// A name in which `*` stands for any text, also none. Everything else stands for itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern(String);

impl Pattern {
    /// Any text is a pattern.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a name is meant.
    ///
    /// The pieces between stars are looked for from left to right, each where it first is: nothing is tried twice, and
    /// a name that was made to be slow costs no more than another.
    pub fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return self.0 == name;
        };
        let Some(mut left) = name.strip_prefix(first) else {
            return false;
        };
        let mut pieces = rest.split('*').peekable();
        while let Some(piece) = pieces.next() {
            if pieces.peek().is_none() {
                return left.ends_with(piece);
            }
            match left.find(piece) {
                Some(at) => left = &left[at + piece.len()..],
                None => return false,
            }
        }
        true
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// Which names of a server are offered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Only these; all, if there is no such list.
    pub include: Option<Vec<Pattern>>,
    /// These never, even if they are included.
    pub exclude: Vec<Pattern>,
}

impl Filter {
    /// Whether a name is offered.
    pub fn allows(&self, name: &str) -> bool {
        let included =
            self.include.as_ref().is_none_or(|some| some.iter().any(|pattern| pattern.matches(name)));
        included && !self.exclude.iter().any(|pattern| pattern.matches(name))
    }

    /// Whether it lets everything through.
    pub fn is_open(&self) -> bool {
        self.include.is_none() && self.exclude.is_empty()
    }
}
