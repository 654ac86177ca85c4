//! SPDX licence expressions, as far as manifests use them: `OR`, `AND`, `WITH`, parentheses, and the old `/`.

/// Whether the expression can be satisfied with allowed licences only. What cannot be read is not allowed.
pub fn satisfied(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { tokens: &tokens, allowed };
    reader.any() == Some(true) && reader.tokens.is_empty()
}

struct Reader<'a> {
    tokens: &'a [&'a str],
    allowed: &'a dyn Fn(&str) -> bool,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.tokens.first() == Some(&word);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn any(&mut self) -> Option<bool> {
        let mut result = self.every()?;
        while self.take("OR") {
            result |= self.every()?;
        }
        Some(result)
    }

    fn every(&mut self) -> Option<bool> {
        let mut result = self.one()?;
        while self.take("AND") {
            result &= self.one()?;
        }
        Some(result)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let result = self.any()?;
            return self.take(")").then_some(result);
        }
        let mut licence = self.next()?.to_owned();
        if self.take("WITH") {
            licence = format!("{licence} WITH {}", self.next()?);
        }
        Some((self.allowed)(&licence))
    }
}

#[cfg(test)]
mod tests {
    use super::satisfied;

    #[test]
    fn expressions_are_judged() {
        let allowed = |licence: &str| matches!(licence, "MIT" | "Apache-2.0" | "Unicode-3.0");
        for fine in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR GPL-3.0) AND Unicode-3.0"] {
            assert!(satisfied(fine, &allowed), "{fine}");
        }
        let refused =
            ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0 WITH LLVM-exception", "", "MIT OR", "(MIT", "MIT MIT"];
        for bad in refused {
            assert!(!satisfied(bad, &allowed), "{bad}");
        }
    }
}
