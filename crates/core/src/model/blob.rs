//! Binary data as it travels: base64 text, checked once on arrival.
//!
//! The text is kept and passed on as it came; bytes are made when somebody asks for them.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize};

/// Text that should be base64 (standard alphabet, padded) is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidBase64(String);

impl fmt::Display for InvalidBase64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid base64: {}", self.0)
    }
}

impl std::error::Error for InvalidBase64 {}

/// Base64 text in the standard alphabet, padded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Blob(String);

impl Blob {
    /// Encodes bytes.
    pub fn encode(bytes: impl AsRef<[u8]>) -> Self {
        Self(STANDARD.encode(bytes))
    }

    /// Takes text that is base64 already.
    pub fn parse(text: impl Into<String>) -> Result<Self, InvalidBase64> {
        let text = text.into();
        match decode(&text) {
            Ok(_) => Ok(Self(text)),
            Err(error) => Err(error),
        }
    }

    /// The bytes.
    pub fn decode(&self) -> Result<Vec<u8>, InvalidBase64> {
        decode(&self.0)
    }

    /// How many bytes it stands for, without decoding it.
    pub fn byte_len(&self) -> usize {
        let padding = self.0.bytes().rev().take_while(|byte| *byte == b'=').count();
        (self.0.len() / 4 * 3).saturating_sub(padding)
    }

    /// The base64 text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn decode(text: &str) -> Result<Vec<u8>, InvalidBase64> {
    STANDARD.decode(text).map_err(|error| InvalidBase64(error.to_string()))
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
