//! Lists of type (1 byte), length (1 byte), value. Unknown types are skipped, so that later
//! versions may add items.

/// Malformed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The list ends within an item.
    #[error("item {0} is cut off")]
    Cut(u8),
    /// An item is there twice.
    #[error("item {0} occurs twice")]
    Twice(u8),
    /// A required item is missing.
    #[error("missing item {0}")]
    Missing(u8),
    /// An item has a length or value that is not valid.
    #[error("item {0} has an invalid length or value")]
    Value(u8),
}

/// Appends an item. A value has at most 255 bytes.
pub(crate) fn put(list: &mut Vec<u8>, kind: u8, value: &[u8]) {
    let length = u8::try_from(value.len()).expect("values are short");
    list.extend([kind, length]);
    list.extend(value);
}

/// Returns the values of types 1 to `N`.
pub(crate) fn read<const N: usize>(mut list: &[u8]) -> Result<[Option<&[u8]>; N], Malformed> {
    let mut values = [None; N];
    while let Some((&kind, rest)) = list.split_first() {
        let (&length, rest) = rest.split_first().ok_or(Malformed::Cut(kind))?;
        let (value, rest) = rest
            .split_at_checked(usize::from(length))
            .ok_or(Malformed::Cut(kind))?;
        list = rest;
        let place = usize::from(kind).checked_sub(1);
        if let Some(known) = place.and_then(|place| values.get_mut(place))
            && known.replace(value).is_some()
        {
            return Err(Malformed::Twice(kind));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_skipped() {
        let mut list = Vec::new();
        put(&mut list, 200, b"later");
        put(&mut list, 2, b"two");
        put(&mut list, 0, b"");
        put(&mut list, 200, b"later");
        assert_eq!(read::<2>(&list), Ok([None, Some(&b"two"[..])]));
        assert_eq!(read::<1>(&[]), Ok([None]));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert_eq!(read::<1>(&[1, 0, 1, 0]), Err(Malformed::Twice(1)));
        for cut in [&[7][..], &[7, 1], &[1, 0, 7, 3, 0, 0]] {
            assert_eq!(read::<1>(cut), Err(Malformed::Cut(7)));
        }
    }
}
