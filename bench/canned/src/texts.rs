//! What answers are made of, around what is copied into them.

/// Around a result's text.
pub const TEXT: [&str; 2] = [r#","result":{"content":[{"type":"text","text":""#, r#""}]"#];
/// The end of a result in the legacy era.
const LEGACY: &str = "}}";
/// The same in the modern one.
pub const MODERN: &str = concat!(
    r#","resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":"#,
    r#"{"name":"bench","version":"1.0.0"}}}}"#
);
/// Around the revision that the client asked for.
pub const HELLO: [&str; 2] = [
    r#","result":{"protocolVersion":""#,
    r#"","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1.0.0"}}}"#,
];
pub const DISCOVERED: &str = concat!(
    r#","result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"#,
    r#""ttlMs":0,"cacheScope":"private""#
);
pub const UNKNOWN: &str = r#","error":{"code":-32601,"message":"there is no canned answer to this"}}"#;
/// Before a report's token.
pub const PROGRESS: &str = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"#;

/// The five tools as ours lists them, one a line, and one of those that only fill the list.
const TOOLS: &str = include_str!("tools.jsonl");

pub fn tail(modern: bool) -> &'static [u8] {
    if modern { MODERN.as_bytes() } else { LEGACY.as_bytes() }
}

/// The longer ones, put together once.
pub struct Texts {
    legacy_list: String,
    modern_list: String,
    /// After a report's token.
    pub steps: Vec<String>,
    /// After a city, in the text and in the structured result.
    quoted: String,
    weather: String,
}

impl Texts {
    pub fn new(more: usize) -> Self {
        let tools = tools(more).join(",");
        let list = |after: &str| format!(r#","result":{{"tools":[{tools}]{after}"#);
        let hours: Vec<String> = (0..24).map(|hour| format!(r#"{{"hour":{hour},"celsius":20.5}}"#)).collect();
        let hours = hours.join(",");
        let weather = format!(r#"","celsius":21.5,"wind":{{"speed":3.5,"from":"NW"}},"hours":[{hours}]}}"#);
        Self {
            legacy_list: list(LEGACY),
            modern_list: list(&format!(r#","ttlMs":0,"cacheScope":"private"{MODERN}"#)),
            steps: (1..=10).map(|step| format!(r#","progress":{step},"total":10}}}}"#)).collect(),
            quoted: weather.replace('"', r#"\""#),
            weather,
        }
    }

    pub fn list(&self, modern: bool) -> &[u8] {
        if modern { self.modern_list.as_bytes() } else { self.legacy_list.as_bytes() }
    }

    /// Structured content, and the same as text.
    pub fn weather(&self, city: &[u8], out: &mut Vec<u8>) {
        for part in [
            TEXT[0].as_bytes(),
            br#"{\"city\":\""#,
            city,
            self.quoted.as_bytes(),
            TEXT[1].as_bytes(),
            br#","structuredContent":{"city":""#,
            city,
            self.weather.as_bytes(),
        ] {
            out.extend_from_slice(part);
        }
    }
}

fn tools(more: usize) -> Vec<String> {
    let mut tools: Vec<String> = TOOLS.lines().map(str::to_owned).collect();
    let filler = tools.pop().unwrap_or_default();
    tools.extend((0..more).map(|number| filler.replace("tool_0", &format!("tool_{number}"))));
    tools
}
