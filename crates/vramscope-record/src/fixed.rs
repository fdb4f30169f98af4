//! Structs of integers with a fixed layout in the log: little-endian, in the order of their fields, without gaps.

/// Declares such a struct, with `BYTES`, `to_bytes` and `read`.
macro_rules! fixed {
    (
        $(#[$meta:meta])*
        pub struct $name:ident { $( $(#[$field_meta:meta])* pub $field:ident: $type:ty, )* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $name { $( $(#[$field_meta])* pub $field: $type, )* }

        impl $name {
            /// Size of the encoded struct.
            pub const BYTES: usize = 0 $( + size_of::<$type>() )*;

            /// Encodes the struct.
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

            /// Decodes the struct from the start of `bytes` and returns the bytes after it. `None` if `bytes` is
            /// too short.
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
