"""Sample texts for tests of estimated token counts. Each text is of one kind: code, prose, a language, numbers, …"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from datetime import date

_CODE = '''
class Basket:
    """What a customer is about to buy."""

    def __init__(self, owner: str, *, limit: int | None = None) -> None:
        self._owner, self._limit = owner, limit
        self._items: dict[str, list[Item]] = defaultdict(list)

    def total(self, currency: str = "EUR") -> Decimal:
        amounts = [item.price * item.count for items in self._items.values() for item in items if not item.is_gift]
        if self._limit is not None and len(amounts) >= self._limit:
            raise BasketFull(f"{self._owner!r} has {len(amounts)} of {self._limit} items")
        return sum(amounts, Decimal()).quantize(CENT, rounding=ROUND_HALF_UP)


@functools.lru_cache(maxsize=None)
def is_prime(number):
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))
'''
_PROSE = """
Return the words of `text` in the order of their first appearance, without those that are listed in `ignored`.

Whitespace at either end is stripped, punctuation that adjoins a word is dropped, and two words that differ only in
their capitalisation count as one; the spelling that came first is kept. Abbreviations such as "e.g." and contractions
such as "don't" remain as they are. Raises ValueError where the configuration contradicts itself, for instance because
an unrecognised normalisation was requested.
"""
_DOCTESTS = """
>>> moving_average([1, 2, 3, 4, 5, 6], 3)
[2.0, 3.0, 4.0, 5.0]
>>> compound(1000, 0.05, 10)
1628.894626777442
>>> matrix_product([[1, 0], [0, -1]], [[12, 34], [56, 78]])
[[12, 34], [-56, -78]]
>>> as_hex(48879), datetime(2024, 2, 29, 23, 59, 59)
('0xbeef', datetime.datetime(2024, 2, 29, 23, 59, 59))
"""
_CONSTANTS = """
MAXIMUM_RETRY_ATTEMPTS = DEFAULT_CONNECTION_TIMEOUT_SECONDS
HTTP_STATUS_UNPROCESSABLE_ENTITY, SQLITE_OPEN_READWRITE, EXIFTAG_ORIENTATION
getElementByClassName(XMLHttpRequest, SocketTimeoutHandler).asUnmodifiableCollection()
"""
_SIGNS = r"""
(?P<year>\d{4})-(?:0[1-9]|1[0-2])|^\s*#.*$|[^\]\\]+(?<!\\)"
x = ~(a & b) | (c ^ d) << 2 >> 3 != -e ** +f // g @ h % i <= j >= k -> {**l, *m}; n := {}[()]
+-----+-----+    /\_/\    $$ && || ?? ;; ,, <<>> ``` ~~~ === *** ### @@@ %%% ^^^ ::: \\\ |||
"""

_WRITTEN = {
    "Chinese": "计算两个日期之间的工作日数量，不包括周末和法定节假日；如果开始日期晚于结束日期，则返回负数。",
    "Chinese, as in Taiwan": "計算購物車的總金額，並套用優惠券折扣。若庫存不足，則拋出例外並說明原因。",
    "rare Chinese": "龘靐齉爩麤灪籲鱻驫鸞厵癵驪麷鞻饢韊韽頀顪",
    "Japanese": "文字列を受け取り、カタカナをひらがなに変換して返す。空文字列の場合は例外を送出します。",
    "Korean": "주어진 문자열에서 가장 긴 회문 부분 문자열을 찾아 반환합니다. 입력이 비어 있으면 빈 문자열입니다.",
    "Russian": "Возвращает список уникальных слов текста в порядке их появления, без учёта регистра букв.",
    "Greek": "Επιστρέφει το άθροισμα των αριθμών της λίστας, αγνοώντας τις αρνητικές τιμές.",
    "Arabic": "تُرجع الدالة قائمة الكلمات المرتبة أبجديًا بعد حذف علامات الترقيم والمسافات الزائدة.",
    "Hebrew": "הפונקציה מחזירה את רשימת המילים הייחודיות לפי סדר הופעתן בטקסט.",
    "Hindi": "यह फलन दी गई सूची के सभी सम अंकों का योग लौटाता है, और रिक्त सूची के लिए शून्य।",
    "Thai": "ฟังก์ชันนี้คืนค่าผลรวมของตัวเลขทั้งหมดในรายการ โดยไม่นับค่าที่ติดลบ",
    "Georgian": "ფუნქცია აბრუნებს სიის ელემენტების ჯამს, უარყოფითი რიცხვების გარეშე.",
    "Vietnamese": "Trả về danh sách các từ khóa xuất hiện nhiều nhất trong đoạn văn bản, sắp xếp giảm dần.",
    "French": "Renvoie l’âge moyen des élèves déjà inscrits à l’école, arrondi à l’entier supérieur.",
    "German": "Gibt die Größe des größten zusammenhängenden Straßenabschnitts zurück; Fußgängerüberwege zählen nicht.",
    "Polish": "Zwraca średnią ważoną źródłowych współczynników, pomijając żółte i zielone próbki.",
    "emoji": "😀🎉🚀🔥✅❌⚠️👩‍💻🏳️‍🌈👍🏽🇩🇪🇯🇵🧑🏿‍🚒🫠🪿🥲",
    "mathematics": "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, ∑ᵢ₌₁ⁿ i² = n(n+1)(2n+1)⁄6, α≠β ⇒ ∂f⁄∂x ≈ ±√2·10⁻³ ≤ ∞",
    "boxes": "┌────┬────┐\n│ ab │ cd │\n├────┼────┤\n│ ▓▒ │ ░█ │\n└────┴────┘",
    "odd blanks": "a\u00a0b\u2003c\u3000d\u200be\ufefff\u2028g\u0085h",
    "code": _CODE,
    "prose": _PROSE,
    "doctests": _DOCTESTS,
    "constants": _CONSTANTS,
    "signs": _SIGNS,
    "tabs": _CODE.replace("    ", "\t"),
    "lines that end as on Windows": _CODE.replace("\n", "\r\n"),
    "blank lines": "\n\n\n".join(_CODE.splitlines()) + "\n" * 20,
    "deep indentation": "\n".join(" " * 3 * depth + f"if level > {depth}:" for depth in range(16)),
}


def _numbers() -> Mapping[str, str]:
    """Return numbers as they are written in tables and examples."""
    numbers = [(7919 * number * number + 31) % 100_003 for number in range(1, 161)]
    return {
        "a list of numbers": f"[{', '.join(map(str, numbers))}]",
        "a table of numbers": "".join(f"{one:>9}" + "\n" * (place % 8 == 7) for place, one in enumerate(numbers)),
        "decimals": " ".join(f"{one / 977:.4f}" for one in numbers[:80]),
        "negative numbers": "(" + ", ".join(f"-{one}" for one in numbers[:80]) + ")",
        "powers": " ".join(f"{one}e-{one % 300}" for one in numbers[:80]),
        "dates": "\n".join(
            str(date.fromordinal(730_000 + one)) + f" {one % 24:02}:{one % 60:02}" for one in numbers[:40]
        ),
        "long numbers": " ".join(str(one**5) for one in numbers[:20]),
        "numbers one a line": "\n".join(map(str, numbers)),
        "indented numbers": "\n".join(f"    {one}\t{one % 7}" for one in numbers[:60]),
    }


def _by_chance() -> Mapping[str, str]:
    """Return random texts, whose words are in no tokenizer's vocabulary."""
    seeds = [hashlib.sha256(bytes([number])).digest() for number in range(12)]
    return {
        "hexadecimal": "\n".join(seed.hex() for seed in seeds),
        "hexadecimal in capitals": " ".join(seed.hex().upper() for seed in seeds),
        "base64": "\n".join(base64.b64encode(seed).decode() for seed in seeds),
        "escapes": "".join(f"\\x{byte:02x}" for seed in seeds[:3] for byte in seed),
    }


KINDS: Mapping[str, str] = {name: text.strip(" ") for name, text in {**_WRITTEN, **_numbers(), **_by_chance()}.items()}
