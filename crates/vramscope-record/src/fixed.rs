//! Structs of integers that stand in a log as their little-endian bytes, without gaps, in the order of their fields.

/// Declares such a struct with `BYTES`, `to_bytes` and `read`.
macro_rules! fixed {
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $( $(#[$field_meta:meta])* pub $field:ident: $type:ty, )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $name { $( $(#[$field_meta])* pub $field: $type, )* }

        impl $name {
            /// Bytes in the log.
            pub const BYTES: usize = 0 $( + size_of::<$type>() )*;

            /// As it stands in the log.
            #[must_use]
            #[inline]
            pub fn to_bytes(&self) -> [u8; Self::BYTES] {
                let mut bytes = [0; Self::BYTES];
                let mut rest = bytes.as_mut_slice();
                $(
                    let (field, after) = rest.split_at_mut(size_of::<$type>());
                    field.copy_from_slice(&self.$field.to_le_bytes());
                    rest = after;
                )*
                let _ = rest;
                bytes
            }

            /// From the beginning of `bytes`, with what stands behind it; `None` if there are too few.
            #[must_use]
            pub fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
                let mut rest = bytes;
                $(
                    let (field, after) = rest.split_first_chunk::<{ size_of::<$type>() }>()?;
                    let $field = <$type>::from_le_bytes(*field);
                    rest = after;
                )*
                Some((Self { $( $field, )* }, rest))
            }
        }
    };
}
