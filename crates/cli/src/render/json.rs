//! JSON with line breaks and indentation, everything else as it was: order, numbers, escapes.

/// Sets JSON text for people. What is no JSON comes out as some text or other.
pub(crate) fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut chars = json.chars().filter(|char| !char.is_control()).peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' => {
                out.push(char);
                let mut escaped = false;
                for char in chars.by_ref() {
                    out.push(char);
                    if char == '"' && !escaped {
                        break;
                    }
                    escaped = char == '\\' && !escaped;
                }
            }
            '{' | '[' => {
                while chars.next_if_eq(&' ').is_some() {}
                out.push(char);
                let end = if char == '{' { '}' } else { ']' };
                if chars.next_if_eq(&end).is_some() {
                    out.push(end);
                } else {
                    depth += 1;
                    break_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, depth);
                out.push(char);
            }
            ',' => {
                out.push(char);
                break_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            ' ' => {}
            _ => out.push(char),
        }
    }
    out
}

/// Deeper than this nobody sees it anyway; and indentation must not grow with the square of what came.
const DEEPEST: usize = 32;

fn break_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth.min(DEEPEST)));
}

#[cfg(test)]
mod tests {
    use super::indented;

    #[test]
    fn order_numbers_and_escapes_stay() {
        let json = r#"{"z":[1.50,{}],"a":"x, \"{y}\": \\","e":[],"n":1e400}"#;
        let wanted = "{\n  \"z\": [\n    1.50,\n    {}\n  ],\n  \"a\": \"x, \\\"{y}\\\": \\\\\",\n  \"e\": [],\n  \"n\": 1e400\n}";
        assert_eq!(indented(json), wanted);
        assert_eq!(indented(wanted), wanted);
        assert_eq!(indented("\"open"), "\"open");
    }
}
