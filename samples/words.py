"""The words of the sample documents. Tarnholm Pump Works and everybody in it are invented."""
# ruff: noqa: E501

HANDBOOK_MD = """\
---
title: Operator handbook for the TP series
revision: 7
---

# Operator handbook for the TP series

This handbook is for the people who start, watch and stop the centrifugal pumps TP-110, TP-220 and TP-340 of Tarnholm Pump Works. It replaces revision 6 of March 2021.

## Before the first start

Fill the casing with water until no more air leaves the vent screw. A pump that runs dry for more than 40 seconds destroys its mechanical seal, and the controller then stops it with ERR-4042.

### Electrical connection

The motor of the TP-220 draws 14.8 A at 400 V. Protect it with a 20 A circuit breaker of characteristic C, never with a fuse of unknown age.

#### Direction of rotation

Seen from the fan, the shaft turns clockwise. If it turns the other way, exchange two of the three phases; do not exchange wires inside the motor.

### Pipework

Keep five pipe diameters of straight pipe before the suction flange. A bend directly at the flange costs about 9 percent of the flow and is heard as a crackling noise.

## Daily checks

1. Read the suction pressure. It must stay above 0.4 bar.
2. Touch the bearing housing with the back of the hand: above 80 degrees it is too hot to touch, and ERR-5120 will follow.
3. Look for drops under the mechanical seal. Up to ten drops an hour are normal.

| Check | Normal value | Act at | Error code |
|---|---:|---:|---|
| Suction pressure | 0.8 bar | 0.4 bar | ERR-4042 |
| Bearing temperature | 55 °C | 80 °C | ERR-5120 |
| Leakage of the seal | 10 drops/h | 60 drops/h | ERR-4017 |
| Vibration of the casing | 2.8 mm/s | 7.1 mm/s | ERR-6203 |

## The controller

The controller listens on a serial line. The following commands ask it for its state and clear a stored error:

```sh
# Ask for the state of pump 3
tpctl --unit 3 status
## Clear a stored error; the pump stays off until it is started by hand
tpctl --unit 3 clear ERR-4042
```

The same settings as a file, for the controllers delivered after 2019:

~~~ini
[unit3]
# seconds without flow until the pump is stopped
dry_run_limit = 40
restart = manual
~~~

### When the controller does not answer

Check the line first: 9600 baud, eight data bits, even parity. If it stays silent, replace the interface card IFC-88; ordinary cards of the older type IFC-80 do not fit the new backplane.

## Taking a pump out of service

Close the discharge valve, stop the motor, close the suction valve, and drain the casing when frost is expected. A casing that froze with water in it is scrap: the repair costs more than the 2,140 euros of a new one.

## Responsible persons

Questions about this handbook go to Ngozi Okonkwo, head of service. Changes are approved by Elin Lindqvist.
"""

SHIFT_LOG_TXT = """\
SHIFT LOG, PUMP HALL 2, TARNHOLM PUMP WORKS
===========================================

Week 14. Keep the log with the pumps; do not take pages out.

Monday, early shift
-------------------

06:10  Marchetti takes over from Achterberg. All three units run, suction pressure 0.82 bar.
07:45  Unit 3 stopped by itself with ERR-4042. The strainer before it was full of reed. Cleaned it, vented the casing, started again at 08:05.
11:30  Delivery of twelve bearings 6205-2RS, stored in rack C4. One box was wet and goes back.

Monday, late shift
------------------

14:00  Achterberg takes over. Vibration of unit 1 at 4.9 mm/s, last week it was 3.1. No cause found yet.
18:20  Lightning. The mains failed for eleven seconds; unit 2 did not come back before its breaker was reset by hand.

Tuesday, early shift
--------------------

06:00  Marchetti. Vibration of unit 1 now 6.4 mm/s. Stopped it and called Okonkwo.
09:15  Okonkwo finds a loose foundation bolt, the one in the north-east corner. Tightened to 210 Nm. Vibration back to 2.9 mm/s.
12:40  The yellow paint on the handrail is still wet. Do not lean on it.

Tuesday, late shift
-------------------

14:00  Achterberg. Quiet shift. Topped up the oil of unit 2 with 0.3 litres of ISO VG 46.
21:55  The clock in the hall is four minutes slow. Times in this log are those of the clock.
"""

ERROR_CODES_HTML = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Error codes of the TPC-5 controller</title>
<style>
body { font-family: sans-serif; }
.draft { display: none; }
</style>
<script>console.log("this is not text of the page");</script>
</head>
<body>
<header><a href="/">Tarnholm Pump Works</a></header>
<nav><ul><li><a href="/pumps">Pumps</a></li><li><a href="/service">Service</a></li></ul></nav>
<main>
<h1>Error codes of the TPC-5 controller</h1>
<p>The controller shows a code of four digits and stores the last 200 of them with date &amp; time. Codes that begin with 4 come from the water side, with 5 from the motor, with 6 from the sensors.</p>
<h2>List of codes</h2>
<table>
<caption>All codes of firmware 3.2</caption>
<thead><tr><th>Code</th><th>Meaning</th><th>First remedy</th><th>Restart</th></tr></thead>
<tbody>
<tr><td>ERR-4017</td><td>Leakage of the mechanical seal above 60 drops an hour</td><td>Replace the seal SEAL-MG1-33</td><td>manual</td></tr>
<tr><td>ERR-4042</td><td>Dry running: no flow for 40 seconds</td><td>Clean the strainer, vent the casing</td><td>manual</td></tr>
<tr><td>ERR-5120</td><td>Bearing above 80 °C</td><td>Grease the bearing or replace it</td><td>manual</td></tr>
<tr><td>ERR-5133</td><td>Phase missing</td><td>Check the breaker and the three fuses</td><td>automatic</td></tr>
<tr><td>ERR-6203</td><td>Vibration above 7.1 mm/s</td><td>Tighten the foundation bolts to 210 Nm</td><td>manual</td></tr>
<tr><td>ERR-6250</td><td>Pressure sensor gives no signal</td><td>Check the plug M12 at the sensor</td><td>automatic</td></tr>
</tbody>
</table>
<h2>Reading the memory</h2>
<p>Hold the arrow key for three seconds. The display then shows the newest code; each further press goes one code back.</p>
<pre>E 4042  03-12 07:45
# a hash marks a code that was cleared by hand
E 5133# 03-12 18:20</pre>
<h3>Exporting the memory</h3>
<p>Put a memory stick formatted as FAT32 into the port behind the small door. The export of 200 codes takes about nine seconds, and the green lamp goes out when the stick may be pulled.</p>
<ul>
<li>File name: the serial number of the controller</li>
<li>Format: one code a line, separated by semicolons</li>
</ul>
<p class="draft">Draft, not for customers: firmware 4 drops the code 6250.</p>
<img src="door.png" alt="Drawing of the small door below the display, with the port behind it">
</main>
<footer><p>Tarnholm Pump Works, Quay Street 4</p></footer>
</body>
</html>
"""

REGULATIONS_UK_HTML = """\
<!DOCTYPE html>
<html lang="uk">
<head><meta charset="utf-8"><title>Правила роботи насосної станції</title></head>
<body>
<main>
<h1>Правила роботи насосної станції</h1>
<p>Ці правила діють для насосної станції «Вільха» та її трьох насосів TP-340. Відповідальна за станцію — інженерка Оксана Бондаренко.</p>
<h2>Пуск насоса</h2>
<p>Перед пуском машиніст відкриває засувку на всмоктувальному трубопроводі та випускає повітря з корпусу. Насос не можна вмикати, якщо тиск на вході нижчий за 0,4 бара.</p>
<h2>Змащування</h2>
<p>Підшипники змащують двічі на рік, у квітні та в жовтні. На один підшипник іде 35 грамів мастила; надлишок мастила так само шкідливий, як і його нестача.</p>
<h2>Аварійна зупинка</h2>
<p>Код ERR-4042 означає роботу всуху: протягом 40 секунд немає потоку води. Машиніст зупиняє насос, очищає сітчастий фільтр і лише тоді скидає код.</p>
<table>
<tr><th>Сигнал</th><th>Причина</th><th>Дія</th></tr>
<tr><td>Червона лампа</td><td>Перегрів підшипника</td><td>Зупинити насос</td></tr>
<tr><td>Жовта лампа</td><td>Вібрація понад норму</td><td>Перевірити болти фундаменту</td></tr>
<tr><td>Зелена лампа</td><td>Нормальна робота</td><td>Нічого не робити</td></tr>
</table>
<p>Журнал станції зберігають п’ять років.</p>
</main>
</body>
</html>
"""

STORAGE_ZH_TXT = """\
水泵备件仓库管理规定

本规定适用于塔恩霍姆水泵厂二号仓库。仓库负责人是陈立伟，电话分机 417。

一、入库

所有备件入库前必须检查包装。包装潮湿的轴承不得入库，应在三天之内退回供应商。机械密封件 SEAL-MG1-33 的保质期为五年，入库时在标签上写明日期。

二、存放

仓库温度保持在十度到二十五度之间，相对湿度不超过百分之六十。叶轮平放在木架上，不允许叠放。橡胶件远离窗户，因为阳光会使橡胶老化。

三、出库

先入库的备件先出库。领取变频器 VFD-7K5 需要车间主任签字。夜班急需备件时，可以先领取，第二天上午九点以前补办手续。

四、盘点

每季度盘点一次。数量不符时，当天报告仓库负责人，不得自行修改账目。二〇二三年第四季度盘点少了两个轴承，后来在 C4 货架后面找到。
"""

MAINTENANCE_SV_MD = """\
# Underhåll av pumpar i TP-serien

Den här sidan är för verkstaden i Tarnholm. Ansvarig är Elin Lindqvist, anknytning 223.

## Smörjning

Lagren smörjs två gånger om året, i april och i oktober. Till varje lager går 35 gram fett. För mycket fett är lika skadligt som för lite, eftersom lagret då blir varmt.

### Vilket fett

Använd litiumfett av klass 2. Blanda aldrig fett från två tillverkare: tvålen i dem kan lösa upp varandra.

## Byte av axeltätning

1. Stäng båda ventilerna och töm pumphuset.
2. Lossa de åtta skruvarna i lagerhuset korsvis.
3. Dra av pumphjulet med avdragaren AVD-12. Slå aldrig på axeln med hammare.
4. Sätt den nya tätningen SEAL-MG1-33 på plats med såpvatten, inte med olja.

Efter bytet ska pumpen provköras i tjugo minuter. Upp till tio droppar i timmen är normalt.

## Vinterförvaring

Pumpar som står stilla över vintern töms helt. Vrid axeln ett halvt varv varannan vecka, annars får lagren märken av kulorna.

| Åtgärd | Intervall | Tid |
|---|---|---|
| Smörjning av lager | sex månader | 15 minuter |
| Kontroll av koppling | tolv månader | 40 minuter |
| Byte av axeltätning | fyra år | tre timmar |
"""

BULLETIN_TITLE = "Service bulletin 31: cavitation in the TP-340"
BULLETIN = (
    ("h", "What was reported"),
    ("p", "Between January and May, nine operators of the TP-340 reported a crackling noise and a loss of flow. In six of the nine cases the impeller showed pits of one to three millimetres near the trailing edge of the blades. The oldest of these impellers had run for 4,100 hours, the youngest for only 650."),
    ("p", "All nine pumps draw from open basins. None of the pumps that draw from a pressurised line is affected, although some of those have run for more than ten years."),
    ("h", "Cause"),
    ("p", "The pressure at the eye of the impeller falls below the vapour pressure of the water. Small bubbles form, travel into a zone of higher pressure, and collapse against the metal. The pump needs a net positive suction head of 3.6 metres at its rated flow, while the basins offered between 2.9 and 3.3 metres at low water."),
    ("p", "Warm water makes this worse. At 40 degrees its vapour pressure is three times that at 20 degrees, which costs half a metre of the available head."),
    ("h", "What to do"),
    ("p", "Measure the water level at the driest time of the year and compare it with the table on the name plate. Where less than 3.9 metres are available, reduce the speed to 1,310 turns a minute. The flow then falls by a tenth, and the noise disappears."),
    ("p", "Where the full flow is needed, order the wide inlet ring RNG-340-W. It lowers the required head to 2.7 metres. Fitting it takes two persons about five hours; the shaft stays in place."),
    ("p", "Impellers with pits deeper than two millimetres must be replaced. Do not fill the pits by welding: the heat warps the blades, and the impeller can no longer be balanced."),
    ("h", "Costs"),
    ("p", "The ring is free of charge for pumps with serial numbers from 34-0712 to 34-1190. For all others it costs 385 euros. Requests go to Paolo Marchetti, who keeps the list of serial numbers."),
    ("h", "Afterwards"),
    ("p", "Note the vibration of the casing before and after the change. A healthy TP-340 stays below 2.8 millimetres a second. Send the readings to the service department within thirty days, so that bulletin 32 can report how well the ring works."),
)  # fmt: skip

CATALOGUE_INTRO = "Prices are in euros without tax and hold until the end of the year. Stock is that of warehouse 2 on the day of printing. A part marked with 0 is made to order and takes six weeks."
CATALOGUE_HEAD = ("Part number", "Description", "Fits", "Stock", "Price")
CATALOGUE = """\
BRG-6203-2RS|Deep groove ball bearing, 17 mm|TP-110|48|6.20
BRG-6205-2RS|Deep groove ball bearing, 25 mm|TP-220|36|8.90
BRG-6308-C3|Ball bearing with wide clearance, 40 mm|TP-340|12|31.50
BRG-7308-BE|Angular contact bearing, 40 mm|TP-340|0|58.00
SEAL-MG1-18|Mechanical seal, 18 mm, carbon on ceramic|TP-110|22|41.00
SEAL-MG1-33|Mechanical seal, 33 mm, carbon on ceramic|TP-220|17|63.00
SEAL-MG1-43|Mechanical seal, 43 mm, silicon carbide|TP-340|9|118.00
SEAL-LIP-25|Lip seal of the bearing housing|TP-220|60|3.40
IMP-110-132|Impeller, 132 mm, cast iron|TP-110|7|96.00
IMP-220-178|Impeller, 178 mm, cast iron|TP-220|5|154.00
IMP-220-178-B|Impeller, 178 mm, bronze|TP-220|2|342.00
IMP-340-260|Impeller, 260 mm, stainless steel|TP-340|0|710.00
RNG-110|Wear ring, 70 mm|TP-110|31|12.80
RNG-220|Wear ring, 95 mm|TP-220|28|17.60
RNG-340-S|Wear ring, 140 mm, standard|TP-340|14|44.00
RNG-340-W|Wide inlet ring against cavitation|TP-340|6|385.00
SHF-110|Shaft, hardened|TP-110|4|133.00
SHF-220|Shaft, hardened|TP-220|3|187.00
SHF-340|Shaft, stainless steel|TP-340|1|465.00
CPL-19|Flexible coupling, 19 mm|TP-110|11|37.00
CPL-28|Flexible coupling, 28 mm|TP-220|10|52.00
CPL-42|Flexible coupling, 42 mm|TP-340|4|98.00
STAR-28|Rubber star for coupling CPL-28|TP-220|75|4.10
STAR-42|Rubber star for coupling CPL-42|TP-340|40|7.30
GSK-110|Set of flat gaskets|TP-110|55|5.60
GSK-220|Set of flat gaskets|TP-220|52|6.90
GSK-340|Set of flat gaskets, fibre free|TP-340|33|14.20
ORG-178-3|O-ring of the casing, 178 x 3 mm|TP-220|90|1.15
ORG-260-5|O-ring of the casing, 260 x 5 mm|TP-340|64|2.60
CAS-220|Casing with feet, cast iron|TP-220|0|2,140.00
COV-220|Cover of the casing|TP-220|1|418.00
FT-M16|Foundation bolt M16, 300 mm, with nut|all|120|9.75
VNT-14|Vent screw, brass|all|200|2.20
STR-DN80|Strainer basket DN 80, mesh 2 mm|TP-220|8|84.00
STR-DN125|Strainer basket DN 125, mesh 2 mm|TP-340|3|147.00
TPC-5|Controller with display|all|2|890.00
IFC-88|Interface card, serial, for the new backplane|TPC-5|5|126.00
IFC-80|Interface card, serial, for the old backplane|TPC-4|1|95.00
SNS-P10|Pressure sensor 0 to 10 bar, plug M12|all|19|74.00
SNS-T120|Temperature sensor for the bearing housing|all|21|39.00
SNS-V20|Vibration sensor, 4 to 20 mA|all|6|215.00
VFD-4K0|Frequency converter, 4 kW|TP-110|2|560.00
VFD-7K5|Frequency converter, 7.5 kW|TP-220|1|785.00
VFD-18K|Frequency converter, 18.5 kW|TP-340|0|1,690.00
FAN-160|Fan of the motor|TP-220|4|28.00
HOOD-160|Fan cowl|TP-220|3|33.50
GRS-LI2|Lithium grease of class 2, cartridge of 400 g|all|65|8.40
OIL-VG46|Oil ISO VG 46, can of 5 litres|all|18|36.00
AVD-12|Puller for impellers|all|2|172.00
KEY-8X7|Feather key 8 x 7 x 40 mm|TP-220|140|0.95
"""

INSPECTION_SCAN = """\
INSPECTION REPORT No. 2207

Pump: TP-220, serial number 22-5814
Place: waterworks Ellerbrook, hall 1
Inspector: H. Achterberg
Date: 14 September 2022

1. Findings

The wear ring is worn by 0.9 mm on one
side. The limit is 0.6 mm. The shaft runs
out of true by 0.05 mm, which is allowed.

The coupling star is brittle and has two
cracks. The paint of the base plate is
blistered, without influence on the pump.

2. Measures

Replace the wear ring RNG-220 and the
rubber star STAR-28 before 1 November.
Until then run the pump at no more than
80 percent of its rated flow.

3. Next inspection

March 2024, together with unit 2.
"""

MIXED_FIRST = (
    "Service file of pump 34-0933",
    "This file holds the contract, the signed delivery record and the closing note for one pump of type TP-340. It was put together for the insurance company in June 2023.",
    "The pump was sold to the drainage board of Marshfield on 3 February 2019. The contract grants a warranty of 60 months or 15,000 hours of running, whichever comes first. The warranty ends early if the pump is opened by anyone but the service of Tarnholm Pump Works.",
)  # fmt: skip
MIXED_SCAN = """\
DELIVERY RECORD

Received by: T. Halloran
Pump: TP-340, number 34-0933
Received on: 11 February 2019

The crate was damaged at one corner.
The pump inside was dry and complete.
The spare seal SEAL-MG1-43 was missing
and will be sent later.

Transport: carrier Brandt, lorry 7
Hours on the counter: 2
"""
MIXED_LAST = (
    "Closing note",
    "The missing seal was sent on 19 February 2019 and arrived two days later. The damaged crate was paid for by the carrier.",
    "On 30 May 2023 the pump failed after 12,480 hours with a broken shaft. Because the limit of 15,000 hours had not been reached, the repair of 1,930 euros was done under warranty.",
)  # fmt: skip

DELIVERY_SCAN = """\
DELIVERY NOTE 88-1043

To: Sawmill Kettleby, Mill Lane 2
From: Tarnholm Pump Works, warehouse 2

4 pieces   STAR-28   rubber star
2 pieces   GSK-220   flat gaskets
1 piece    VFD-7K5   converter

Weight with packing: 23.5 kg

The frequency converter is fragile.
Do not tilt the box by more than
thirty degrees.

Packed by: Yusuf Demirel
"""

CONTRACT = (
    "Purchase contract, confidential",
    "The price agreed for eight pumps of type TP-220 is 41,600 euros.",
    "This document can only be read with its password, which is not part of the samples.",
)
