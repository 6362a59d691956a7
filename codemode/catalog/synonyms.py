"""Words that users and tool authors use for one another. Pure.

Broad on purpose: a synonym counts for a fraction of the word itself, so it decides where the word is missing.
A word may be in several groups; groups are not joined over it.
"""

from __future__ import annotations

from codemode.catalog.words import stem

_GROUPS = """
add create new make insert
delete remove erase drop clear discard
get fetch retrieve read obtain load show view display lookup
find search query locate discover browse lookup
list enumerate show
update edit modify change alter set patch adjust
send deliver transmit dispatch forward
message text sms chat dm msg
email mail inbox
buy purchase order
sell trade
price cost fee rate quote amount expense
pay payment charge bill invoice
book reserve reservation schedule
cancel abort revoke undo
flight airline airplane plane fly airport
hotel room accommodation lodging stay
house home property apartment flat
rent lease hire
car vehicle auto automobile
ride taxi cab
train rail railway
movie film cinema theater
watch play stream
song music track audio
concert event festival gig
restaurant dining food meal eat
recipe cook dish
weather forecast temperature climate rain
map route direction navigate
distance far
location place city address
nearby near close nearest
time date clock
calendar meeting appointment agenda schedule event
reminder alarm notification alert notify remind
task todo
note memo
file document doc
folder directory dir
copy duplicate clone
move rename
save store write persist
open launch start
close stop end quit shut
run execute launch invoke
login signin authenticate auth
user account member person customer profile
contact person phone
company business firm organization org corporation
stock share equity ticker
money cash fund
transfer wire
convert conversion exchange
calculate compute calc determine evaluate
sum total plus
multiply product
average mean avg
compare difference diff
sort order arrange rank
filter select
count number quantity
image picture photo img screenshot
video clip
repository repo
issue ticket bug
pull merge pr
database db sql
table sheet spreadsheet
server host machine vm
log record history audit
configuration config setting preference option
information info detail data
summary overview digest summarize
translate translation
news article headline
web internet online website site page
url link
download fetch
upload attach attachment
doctor physician dentist
medicine drug medication prescription
law legal court lawsuit
team club
game match
score result
student pupil
school university college
course class lesson
job position career vacancy
employee staff worker colleague
salary wage
item product goods article
shop store
cart basket
review rating feedback
comment reply answer respond
post publish tweet
follow subscribe
favorite bookmark star
light lamp bulb
thermostat heating
volume loud sound
deploy release rollout ship
build compile
error failure exception crash
restart reboot
secret credential password token
permission access role grant
branch fork
disk storage volume
container docker
cluster kubernetes k8s
environment env
parameter param argument arg
identifier id
application app
"""


def _read() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for line in _GROUPS.split("\n"):
        group = [stem(word) for word in line.split()]
        for word in group:
            found.setdefault(word, {}).update(dict.fromkeys(other for other in group if other != word))
    return {word: tuple(others) for word, others in found.items()}


_BY_STEM = _read()


def synonyms(term: str) -> tuple[str, ...]:
    """Stems that may stand for this stem, in fixed order."""
    return _BY_STEM.get(term, ())
