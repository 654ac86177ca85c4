//! Results of tools, written straight into the output.
//!
//! Text is most of what servers say, and serde_json looks at it byte by byte. The members, their order and their
//! values are those of [`Serialize`](serde::Serialize), which everything but plain text is left to.

use serde_json::Result;

use super::{CallToolResult, Content, TextContent};
use crate::json_rpc::write_string;

impl CallToolResult {
    /// Appends the result as JSON.
    ///
    /// # Errors
    /// Where a value cannot be JSON; part of it may have been written then.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(br#"{"content":["#);
        for (at, block) in self.content.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            write_block(block, out)?;
        }
        out.push(b']');
        if let Some(structured) = &self.structured_content {
            out.extend_from_slice(br#","structuredContent":"#);
            out.extend_from_slice(structured.get().as_bytes());
        }
        if self.is_error {
            out.extend_from_slice(br#","isError":true"#);
        }
        if let Some(kind) = &self.result_type {
            out.extend_from_slice(br#","resultType":"#);
            write_string(kind.as_str(), out);
        }
        if let Some(meta) = &self.meta {
            out.extend_from_slice(br#","_meta":"#);
            serde_json::to_writer(&mut *out, meta)?;
        }
        out.push(b'}');
        Ok(())
    }
}

fn write_block(block: &Content, out: &mut Vec<u8>) -> Result<()> {
    match block {
        Content::Text(TextContent { text, annotations: None, meta: None }) => {
            out.extend_from_slice(br#"{"type":"text","text":"#);
            write_string(text, out);
            out.push(b'}');
            Ok(())
        }
        block => serde_json::to_writer(out, block),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Annotations, Meta, ResultType};
    use super::*;

    fn written(result: &CallToolResult) -> String {
        let mut out = Vec::new();
        result.write_json(&mut out).expect("a result");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_result_is_written_as_it_serializes() {
        let mut meta = Meta::default();
        meta.set("example.com/key", 7);
        let text = || Content::text("\"quoted\"\nlines");
        let structured = CallToolResult::structured(&serde_json::json!({"a": [1, null]})).expect("JSON");
        let results = [
            CallToolResult::default(),
            CallToolResult::text(""),
            CallToolResult::error("no"),
            CallToolResult::new(vec![text(), Content::image([0, 1], "image/png"), text()]),
            CallToolResult::new(vec![text().annotations(Annotations::default())]),
            CallToolResult { result_type: Some(ResultType::Complete), ..structured.clone() },
            CallToolResult {
                result_type: Some(ResultType::Other("x\"".into())),
                meta: Some(meta),
                ..structured
            },
        ];
        for result in results {
            assert_eq!(written(&result), serde_json::to_string(&result).expect("a result"));
        }
    }
}
