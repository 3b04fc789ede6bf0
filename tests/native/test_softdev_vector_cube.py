"""Cube map coordinates by the table of the OpenGL specification, and packing into bytes."""

import numpy as np

from support.vector_kernel import Operation, run_operations

TARGET = "gfx942"
# Face, s and t of the major axis +x, -x, +y, -y, +z, -z, as coefficients of (x, y, z).
TABLE = [
    (0, (0, 0, -1), (0, -1, 0)),
    (1, (0, 0, 1), (0, -1, 0)),
    (2, (1, 0, 0), (0, 0, 1)),
    (3, (1, 0, 0), (0, 0, -1)),
    (4, (1, 0, 0), (0, -1, 0)),
    (5, (-1, 0, 0), (0, -1, 0)),
]


def f32(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32).view(np.uint32)


def test_cube_coordinates() -> None:
    generator = np.random.default_rng(4)
    directions = generator.uniform(-1, 1, (256, 3)).astype(np.float32)
    directions[:4] = [(1, 1, 1), (1, 1, 0.5), (-1, 0.5, 0.5), (1, -1, -1)]
    names = ("v_cubeid_f32", "v_cubesc_f32", "v_cubetc_f32", "v_cubema_f32")
    text = "\n  ".join(f"{name} v{16 + k}, v8, v9, v10" for k, name in enumerate(names))
    outputs = tuple(f"v{16 + k}" for k in range(4))

    (result,) = run_operations(TARGET, [Operation(text, 3, outputs)], [f32(directions)])

    # Ties go to z, then to y.
    axes = [max((2, 1, 0), key=lambda axis: abs(float(row[axis]))) for row in directions]
    rows = [TABLE[2 * a + int(row[a] < 0)] for a, row in zip(axes, directions, strict=True)]
    wanted = np.array(
        [
            (face, np.dot(s, row), np.dot(t, row), 2 * row[axis])
            for (face, s, t), axis, row in zip(rows, axes, directions, strict=True)
        ],
        np.float32,
    )
    np.testing.assert_array_equal(result.view(np.float32), wanted)
    assert result.view(np.float32)[0].tolist() == [4, 1, -1, 2]


def test_floats_are_rounded_into_one_byte() -> None:
    values = [0.0, 0.5, 1.5, 2.4999, 254.5, 255.5, 1e9, -3.0, float("nan"), float("inf"), 128.0]
    inputs = np.zeros((len(values), 3), np.uint32)
    inputs[:, 0] = f32(np.array(values))
    inputs[:, 1] = 2  # the byte
    inputs[:, 2] = 0x11223344
    upward = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\n  "
    operations = [
        Operation("v_cvt_pk_u8_f32 v16, v8, v9, v10", 3, ("v16",)),
        Operation("v_cvt_pk_u8_f32 v16, v8, 3, v10", 3, ("v16",)),
        Operation("v_mov_b32 v16, v10\n  v_cvt_pkaccum_u8_f32 v16, v8, v9", 3, ("v16",)),
        Operation(upward + "v_cvt_pk_u8_f32 v16, v8, v9, v10", 3, ("v16",)),
    ]

    third, last, accumulated, up = run_operations(TARGET, operations, [inputs] * 4)

    wanted = [0, 0, 2, 2, 254, 255, 255, 0, 0, 255, 128]
    assert third[:, 0].tolist() == [0x11003344 | byte << 16 for byte in wanted]
    assert last[:, 0].tolist() == [0x00223344 | byte << 24 for byte in wanted]
    assert accumulated[:, 0].tolist() == third[:, 0].tolist()
    assert (up[:5, 0] >> 16 & 255).tolist() == [0, 1, 2, 3, 255]
