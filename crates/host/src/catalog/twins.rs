//! Names that people take for one another, and characters that nobody sees.
//!
//! A skeleton is what is left of a name when case, separators and look-alikes are evened out. It is for comparing only
//! and never shown. The table has the letters that are used for this, not all of Unicode: names beyond ASCII are
//! flagged in any case.

/// What a name looks like.
pub(super) fn skeleton(name: &str) -> String {
    let seen = name.chars().filter(|character| !is_invisible(*character) && !is_separator(*character));
    seen.flat_map(char::to_lowercase).map(look).take(MOST).collect()
}

/// Names that agree so far look alike.
const MOST: usize = 256;

/// Whether a character is not seen, or changes how its neighbours are seen.
pub(super) fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

fn is_separator(character: char) -> bool {
    // Marks that stand on the letter before them are skipped as well: a name may be composed or not.
    matches!(character, '_' | '-' | '.' | ' ' | '\u{a0}' | '\u{300}'..='\u{36f}' | '\u{2010}'..='\u{2015}' | '\u{2212}')
}

/// The plain character that one looks like.
fn look(character: char) -> char {
    match character {
        // Digits and letters of our own.
        '0' => 'o',
        '1' | 'i' | '|' | 'ı' => 'l',
        // Full width.
        '\u{ff01}'..='\u{ff5e}' => {
            let plain = char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character);
            if is_separator(plain) { plain } else { look(plain) }
        }
        // Letters with marks.
        'à'..='å' => 'a',
        'ç' => 'c',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'l',
        'ñ' => 'n',
        'ò'..='ö' | 'ø' => 'o',
        'ù'..='ü' => 'u',
        'ý' | 'ÿ' => 'y',
        // Cyrillic.
        'а' => 'a',
        'в' => 'b',
        'с' => 'c',
        'ԁ' => 'd',
        'е' | 'ё' => 'e',
        'ɡ' => 'g',
        'һ' | 'н' => 'h',
        'і' | 'ї' | 'ӏ' => 'l',
        'ј' => 'j',
        'к' => 'k',
        'м' => 'm',
        'о' => 'o',
        'р' => 'p',
        'ԛ' => 'q',
        'ѕ' => 's',
        'т' => 't',
        'ѵ' => 'v',
        'ԝ' => 'w',
        'х' => 'x',
        'у' => 'y',
        // Greek.
        'α' => 'a',
        'β' => 'b',
        'ε' => 'e',
        'η' => 'n',
        'ι' => 'l',
        'κ' => 'k',
        'ν' => 'v',
        'ο' | 'σ' => 'o',
        'ρ' => 'p',
        'τ' => 't',
        'υ' => 'u',
        'χ' => 'x',
        'γ' => 'y',
        // The sign for kelvin is a k in lower case already; the long s is not an s.
        'ſ' => 's',
        other => other,
    }
}
