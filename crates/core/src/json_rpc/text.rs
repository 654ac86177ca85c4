//! Text of JSON strings: how far it is plain, and how it is written.
//!
//! Most of the bytes of most messages are inside strings, so these are the loops that are worth something. It
//! knows nothing of messages.

/// How many bytes are looked at together once a string has turned out to be long.
const STRIDE: usize = 64;
/// Words of a string that are looked at one by one first: keys and most values are not longer.
const WORDS: usize = 4;

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Length of the run of bytes that mean nothing special inside a string.
pub(super) fn plain_run(bytes: &[u8]) -> usize {
    let mut done = 0;
    while let Some(word) = bytes[done..].first_chunk::<8>() {
        let special = special(u64::from_le_bytes(*word));
        if special != 0 {
            // The lowest mark is exact; only marks above it may be carried over from it.
            return done + special.trailing_zeros() as usize / 8;
        }
        done += 8;
        if done == 8 * WORDS {
            done += long_run(&bytes[done..]);
        }
    }
    done + bytes[done..].iter().take_while(|&&byte| !is_special(byte)).count()
}

/// A mark in the highest bit of each byte that is special.
fn special(word: u64) -> u64 {
    let has_zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let quote = has_zero(word ^ (ONES * u64::from(b'"')));
    let slash = has_zero(word ^ (ONES * u64::from(b'\\')));
    let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
    quote | slash | control
}

fn is_special(byte: u8) -> bool {
    byte == b'"' || byte == b'\\' || byte < 0x20
}

/// As many whole strides as are plain. Without a way out of the inner loop the compiler makes vectors of it.
fn long_run(bytes: &[u8]) -> usize {
    let strides = bytes.chunks_exact(STRIDE);
    STRIDE
        * strides.take_while(|stride| !stride.iter().fold(false, |any, &byte| any | is_special(byte))).count()
}

/// The lines of messages that were put together, without those that are empty.
pub fn lines(messages: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = messages;
    let lines = std::iter::from_fn(move || {
        let line = rest.get(..memchr::memchr(b'\n', rest).unwrap_or(rest.len()))?;
        let found = !rest.is_empty();
        rest = rest.get(line.len() + 1..).unwrap_or_default();
        found.then_some(line)
    });
    lines.filter(|line| !line.is_empty())
}

/// Appends a JSON string.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let (plain, special) = rest.split_at(plain_run(rest));
        out.extend_from_slice(plain);
        if special.is_empty() {
            break;
        }
        // Where one is, others are near: text that is JSON is full of quotes.
        let (near, after) = special.split_at(special.len().min(NEAR));
        write_escaped(near, out);
        rest = after;
    }
    out.push(b'"');
}

/// Bytes that are looked at one by one behind one that had to be escaped.
const NEAR: usize = 32;

/// Appends a few bytes, byte by byte.
fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let mut block = [0; 6 * NEAR];
    let mut length = 0;
    for &byte in bytes.iter().take(NEAR) {
        if is_special(byte) {
            length += escape(byte, &mut block[length..]);
        } else {
            block[length] = byte;
            length += 1;
        }
    }
    out.extend_from_slice(&block[..length]);
}

/// Writes an escape to the beginning of a block and says how long it is.
fn escape(byte: u8, block: &mut [u8]) -> usize {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble & 15)];
            let whole = [b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte)];
            block[..whole.len()].copy_from_slice(&whole);
            return whole.len();
        }
    };
    block[0] = b'\\';
    block[1] = short;
    2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_at_the_first_special_byte_wherever_it_is() {
        for length in [0, 1, 7, 8, 9, 31, 32, 33, 95, 96, 97, 200, 300] {
            let plain = "é".repeat(length).into_bytes();
            assert_eq!(plain_run(&plain), plain.len());
            for at in 0..plain.len() {
                for byte in [b'"', b'\\', 0, 0x1f] {
                    let mut bytes = plain.clone();
                    bytes[at] = byte;
                    assert_eq!(plain_run(&bytes), at, "{byte} at {at} of {}", plain.len());
                }
            }
        }
        // Neighbours of what is special are not special themselves.
        let harmless = [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xdc, 0xff].repeat(40);
        assert_eq!(plain_run(&harmless), harmless.len());
    }

    #[test]
    fn lines_come_whole_and_empty_ones_not_at_all() {
        for text in ["", "\n", "a", "a\n", "a\nb", "\na\n\nbc\n\n"] {
            let expected: Vec<&str> = text.split('\n').filter(|line| !line.is_empty()).collect();
            let found: Vec<&str> =
                lines(text.as_bytes()).map(|line| std::str::from_utf8(line).expect("text")).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn strings_are_written_as_serde_json_writes_them() {
        let all: String = (0..=0x2ff).filter_map(char::from_u32).collect();
        for text in ["", "plain", "\"\\/\n\r\t\u{8}\u{c}\u{0}\u{1f}\u{7f}", "日本語 🦀", &all, &all.repeat(5)]
        {
            let mut out = Vec::new();
            write_string(text, &mut out);
            assert_eq!(out, serde_json::to_vec(text).expect("a string"));
        }
    }
}
