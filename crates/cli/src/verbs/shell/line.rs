//! A line, taken apart into words: as a shell would, with JSON that need not be quoted and results of earlier lines.
//!
//! Spaces separate words, except in quotes and in brackets. `'…'` is taken as it is; elsewhere `$1.key[0]` stands for what
//! came out of an earlier line, and `$$` for a dollar sign. Nothing is run, and no variable of the environment is read.

use serde_json::Value;

use super::memory::{Memory, Step};

/// A line that can be carried out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The name that the result is to have: `name = call …`.
    pub(super) keep: Option<String>,
    pub(super) words: Vec<String>,
}

impl Line {
    pub(super) fn parse(text: &str, memory: &Memory) -> Result<Self, String> {
        let (keep, rest) = assigned(text);
        Ok(Self { keep, words: Words::new(rest, Some(memory)).all()? })
    }

    /// The words of a line that is not finished, whatever its results stand for. None, in the middle of a quote or a bracket.
    pub(super) fn shape(text: &str) -> Option<Vec<String>> {
        Words::new(assigned(text).1, None).all().ok()
    }
}

/// Whether there is more to come: a quote or a bracket is open.
pub(super) fn is_open(text: &str) -> bool {
    let (_, rest) = assigned(text);
    // What is said about lines is no line.
    !rest.trim_start().starts_with('#') && matches!(Words::new(rest, None).all(), Err(why) if why == OPEN)
}

const OPEN: &str = "a quote or a bracket is not closed";

fn assigned(text: &str) -> (Option<String>, &str) {
    let Some((name, rest)) = text.split_once('=') else { return (None, text) };
    let name = name.trim();
    let spaced = text[..text.len() - rest.len() - 1].ends_with(' ');
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.chars().all(is_word);
    if spaced && is_name { (Some(name.to_owned()), rest) } else { (None, text) }
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

struct Words<'a> {
    rest: Vec<char>,
    at: usize,
    /// Without one, nothing is looked up: only the shape matters.
    memory: Option<&'a Memory>,
    /// Whether arguments have types: those of prompts are text.
    typed: bool,
}

impl<'a> Words<'a> {
    fn new(text: &str, memory: Option<&'a Memory>) -> Self {
        let typed = text.split_whitespace().next() == Some("call");
        Self { rest: text.chars().collect(), at: 0, memory, typed }
    }

    fn all(mut self) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        loop {
            while self.is_between() {
                self.at += 1;
            }
            if self.peek().is_none() {
                return Ok(words);
            }
            words.push(self.word()?);
        }
    }

    /// At a space, or where a line goes on in the next one.
    fn is_between(&self) -> bool {
        let goes_on = self.rest.get(self.at..).is_some_and(|rest| rest.starts_with(&['\\', '\n']));
        goes_on || self.peek().is_some_and(char::is_whitespace)
    }

    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += 1;
        next
    }

    /// What came out of a line may be anything, but not an option of the next one.
    fn word(&mut self) -> Result<String, String> {
        let mut word = String::new();
        let is_reference = self.peek() == Some('$');
        while let Some(char) = self.peek().filter(|char| !char.is_whitespace()) {
            self.at += 1;
            match char {
                '\'' => self.quoted(&mut word)?,
                '"' if word.ends_with(":=") => self.json_string(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                // At the end of a line: it goes on in the next one.
                '\\' => word.extend(self.next().map(Some).ok_or(OPEN)?.filter(|char| *char != '\n')),
                '{' | '[' => self.json(&mut word, char)?,
                '$' => self.reference(&mut word)?,
                _ => word.push(char),
            }
        }
        if is_reference && word.starts_with('-') {
            return Err(format!(
                "{word:?} would be read as an option; it can only be the value of an argument"
            ));
        }
        Ok(word)
    }

    fn quoted(&mut self, word: &mut String) -> Result<(), String> {
        loop {
            match self.next().ok_or(OPEN)? {
                '\'' => return Ok(()),
                char => word.push(char),
            }
        }
    }

    fn double_quoted(&mut self, word: &mut String) -> Result<(), String> {
        loop {
            match self.next().ok_or(OPEN)? {
                '"' => return Ok(()),
                '\\' => match self.next().ok_or(OPEN)? {
                    char @ ('"' | '\\' | '$') => word.push(char),
                    char => word.extend(['\\', char]),
                },
                '$' => {
                    if let Some(value) = self.value()? {
                        word.push_str(&as_text(&value));
                    } else {
                        word.push('$');
                    }
                }
                char => word.push(char),
            }
        }
    }

    /// Brackets to their end, with all that is between them.
    fn json(&mut self, word: &mut String, first: char) -> Result<(), String> {
        let mut open = vec![closing(first)];
        word.push(first);
        while let Some(last) = open.last().copied() {
            match self.next().ok_or(OPEN)? {
                '"' => self.json_string(word)?,
                char @ ('{' | '[') => {
                    open.push(closing(char));
                    word.push(char);
                }
                '$' => match self.value()? {
                    Some(value) => word.push_str(&value.to_string()),
                    None => word.push('$'),
                },
                char => {
                    if char == last {
                        open.pop();
                    }
                    word.push(char);
                }
            }
        }
        Ok(())
    }

    fn json_string(&mut self, word: &mut String) -> Result<(), String> {
        word.push('"');
        loop {
            let char = self.next().ok_or(OPEN)?;
            word.push(char);
            match char {
                '"' => return Ok(()),
                '\\' => word.push(self.next().ok_or(OPEN)?),
                _ => {}
            }
        }
    }

    /// A value in the middle of a word. Plain ones are text, which is read as the tool's schema says; of lists and objects, where
    /// they are all of an argument, the argument is JSON.
    fn reference(&mut self, word: &mut String) -> Result<(), String> {
        let Some(value) = self.value()? else {
            word.push('$');
            return Ok(());
        };
        let ends = self.peek().is_none_or(char::is_whitespace);
        let is_whole = self.typed && ends && word.ends_with('=') && word.matches('=').count() == 1;
        match &value {
            Value::String(text) if word.ends_with(":=") => {
                word.push_str(&Value::from(text.as_str()).to_string());
            }
            Value::Array(_) | Value::Object(_) if is_whole && !word.ends_with(":=") => {
                word.truncate(word.len() - 1);
                word.push_str(":=");
                word.push_str(&value.to_string());
            }
            other => word.push_str(&as_text(other)),
        }
        Ok(())
    }

    /// What stands behind a `$`; nothing, if it is one dollar sign of two, or stands alone.
    fn value(&mut self) -> Result<Option<Value>, String> {
        if self.peek() == Some('$') {
            self.at += 1;
            return Ok(None);
        }
        let name = self.run(is_word);
        if name.is_empty() {
            return Ok(None);
        }
        let mut path = Vec::new();
        loop {
            let after = self.rest.get(self.at + 1).copied().unwrap_or(' ');
            match self.peek() {
                Some('.') if is_word(after) => {
                    self.at += 1;
                    path.push(Step::Key(self.run(|char| is_word(char) || char == '-')));
                }
                Some('[') if after.is_ascii_digit() => {
                    self.at += 1;
                    let index = self.run(|char| char.is_ascii_digit());
                    let index = index.parse().map_err(|_| format!("[{index}] is no index"))?;
                    if self.next() != Some(']') {
                        return Err("an index ends with ]".to_owned());
                    }
                    path.push(Step::Index(index));
                }
                _ => break,
            }
        }
        match self.memory {
            Some(memory) => Ok(Some(memory.look_up(&name, &path)?.clone())),
            None => Ok(Some(Value::Null)),
        }
    }

    fn run(&mut self, is_part: impl Fn(char) -> bool) -> String {
        let run: String = self.rest[self.at.min(self.rest.len())..]
            .iter()
            .copied()
            .take_while(|char| is_part(*char))
            .collect();
        self.at += run.chars().count();
        run
    }
}

fn closing(open: char) -> char {
    if open == '{' { '}' } else { ']' }
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn memory() -> Memory {
        let mut memory = Memory::default();
        memory.keep(
            Some("it".into()),
            json!({"sum": 3, "name": "two words", "option": "--save=x", "list": [{"x": "y"}]}),
        );
        memory
    }

    fn words(text: &str) -> Result<Vec<String>, String> {
        Line::parse(text, &memory()).map(|line| line.words)
    }

    #[test]
    fn words_are_those_of_a_shell() {
        let cases: &[(&str, &[&str])] = &[
            ("call add a=1  b=2", &["call", "add", "a=1", "b=2"]),
            ("echo 'two words' \"and $it.sum\" a\\ b", &["echo", "two words", "and 3", "a b"]),
            ("call x o:={\"a\": [1, \"} ]\"]} z", &["call", "x", "o:={\"a\": [1, \"} ]\"]}", "z"]),
            ("call x a=$it.sum b:=$it.sum", &["call", "x", "a=3", "b:=3"]),
            ("call x a=$it.list[0]", &["call", "x", "a:={\"x\":\"y\"}"]),
            ("call x a=$it.name b:=$it.name", &["call", "x", "a=two words", "b:=\"two words\""]),
            (
                "call x a=$it.list[0].x o:={\"in\": $it.list}",
                &["call", "x", "a=y", "o:={\"in\": [{\"x\":\"y\"}]}"],
            ),
            ("say '$it' $$5 \"$$\" $", &["say", "$it", "$5", "$", "$"]),
            ("call x \\\n a=1 b=\\\n2 \\\n", &["call", "x", "a=1", "b=2"]),
            ("call x a:=\"it $it\"", &["call", "x", "a:=\"it $it\""]),
            ("prompt x a=$it.list[0]", &["prompt", "x", "a={\"x\":\"y\"}"]),
            ("", &[]),
        ];
        for (text, wanted) in cases {
            assert_eq!(words(text), Ok(wanted.iter().map(ToString::to_string).collect()), "{text}");
        }
        assert!(words("read $it.option").is_err_and(|why| why.contains("option")));
        assert_eq!(
            words("call x a=$it.option").as_deref(),
            Ok(&["call", "x", "a=--save=x"].map(str::to_owned)[..])
        );
        assert_eq!(
            Line::shape("call x a=$never "),
            Some(["call", "x", "a=null"].map(str::to_owned).to_vec())
        );
        assert_eq!(Line::shape("call x a='"), None);
        assert!(words("x $nobody").is_err_and(|why| why.contains("$nobody")));
        assert!(words("x $it.nothing").is_err_and(|why| why.contains("which has")));
    }

    #[test]
    fn lines_that_are_not_closed_go_on() {
        for open in ["call x o:={\"a\": [1,", "say 'two", "say \"two", "x \\", "o:={\"a\": \"}"] {
            assert!(is_open(open), "{open}");
        }
        for whole in ["# it's a remark", "call x o:={}", "say 'two'", "x = call y", "x $never"] {
            assert!(!is_open(whole), "{whole}");
        }
    }

    #[test]
    fn a_result_can_get_a_name() {
        let line = Line::parse("sum = call add a=1 b=2", &memory()).expect("a line");
        assert_eq!(line.keep.as_deref(), Some("sum"));
        assert_eq!(line.words, ["call", "add", "a=1", "b=2"]);
        assert_eq!(Line::parse("call add a=1", &memory()).expect("a line").keep, None);
    }
}
